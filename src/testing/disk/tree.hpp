#pragma once

#include "testing/disk/inode.hpp"
#include "testing/disk/journal.hpp"

#include <coracle/testing/simulated_disk.hpp>

#include <expected>
#include <map>
#include <string>
#include <string_view>

namespace coracle::testing::detail {

/// The numbers of open files, which a path under /proc/self/fd may name.
class number_table {
public:
    virtual ref<open_file> file_at(int fd) const = 0;

protected:
    ~number_table() = default;
};

/// A `file_operation` that happens now.
struct file_request {
    file_operation& op;
    const number_table& numbers;
    ref<open_file> on;     ///< what its `fd` stands for; null: none
    ref<open_file> other;  ///< and its `other_fd`
    std::int64_t now_ns = 0;
    std::size_t most = SIZE_MAX;     ///< bytes that it reads or writes
    bool fails_to_sync = false;      ///< the disk does
    random_source* order = nullptr;  ///< in which a directory gives its names; null: the alphabet's
    bool is_by_hand = false;         ///< of a test: what is refused is not
    ref<open_file> opened = nullptr;  ///< out: for which its number is still missing
};

/// The files of a disk: what the calls of Linux do to them, and what is left of that by a crash.
class file_tree {
public:
    using result = std::int64_t;  ///< a count, or a negated errno

    explicit file_tree(const disk_options& o);
    file_tree(const file_tree&) = delete;
    file_tree& operator=(const file_tree&) = delete;
    ~file_tree();

    /// Does it, at once and whole. Not for `file_action::close`.
    result perform(file_request& r);

    /// Performs a call of a test: the power never ends, and it comes after all that has happened.
    result perform_by_hand(file_request& r);

    void crash(std::uint64_t seed);
    /// The names on the way of `path` reach the disk.
    void sync_names_of(std::string_view path);
    /// The disk works by the chance of this seed from now on.
    void begin_run(std::uint64_t seed) { storage.chance = random_source(seed); }
    /// Everything reaches the disk.
    void sync_all();
    std::uint64_t crashes() const noexcept { return crashes_; }

    inode_ref find(std::string_view path, bool follows = true) const;
    /// `path` from the root, which no symlink is part of but the last.
    void refuse(std::string_view path, int number);
    void allow(std::string_view path);

    disk_options options;
    medium storage;
    std::uint64_t performed = 0;            ///< operations
    std::uint64_t power_ends = UINT64_MAX;  ///< when so many have been performed

private:
    enum class last_name : std::uint8_t { ordinary, dot, dot_dot, root };
    /// The treatment of a symlink at the end of a path.
    enum class follow : std::uint8_t {
        always,
        unless_last,  ///< but a slash behind it follows it
        to_create,    ///< unless a slash stands behind it: then nothing can be made there
        never,        ///< whatever stands behind it: it is a name that will be changed
    };

    /// The outcome of resolving a path.
    struct place {
        inode_ref directory;  ///< in which the last name stands
        std::string name;
        inode_ref target;  ///< null when there is no such name
        last_name kind = last_name::ordinary;
        bool slash = false;  ///< behind the last name
    };
    using found = std::expected<place, int>;  ///< or an errno

    /// A walk along a path.
    struct walk {
        inode_ref at;
        std::string rest;
        bool is_by_hand = false;  ///< no permission holds it back
        unsigned links = 0;
    };

    // resolve.cpp
    found resolve(const file_request& r, bool other, std::string_view path, follow how) const;
    found walk_along(walk w, follow how) const;
    static bool follows(follow how, bool slash) noexcept;
    bool skip_slashes(walk& w) const;
    inode_ref child(const inode& directory, const std::string& name) const;
    std::expected<inode_ref, int> magic_link(const file_request& r, std::string_view path) const;
    std::expected<inode_ref, int> named(const file_request& r, follow how) const;
    std::string path_of(const place& p) const;
    int refusal(const place& p) const;

    // permissions
    bool permits(const inode& n, unsigned bits) const noexcept;
    int may_change_names(const inode& directory) const noexcept;

    // names.cpp
    result open(file_request& r);
    result open_nameless(file_request& r);
    std::expected<inode_ref, int> created_or_found(file_request& r, const place& p);
    int may_open(const file_request& r, const inode& n) const;
    result make_directory(file_request& r);
    result remove(file_request& r);
    int may_remove(const place& p, bool directory) const;
    result rename(file_request& r);
    result exchange(const place& from, const place& to, std::int64_t now_ns);
    int may_rename(const place& from, const place& to, unsigned flags) const;
    result link(file_request& r);
    result symlink(file_request& r);
    result read_link(file_request& r);
    int may_create(const place& p, bool directory) const;

    inode_ref make(file_kind k, unsigned mode, std::int64_t now_ns);
    void add_name(const place& p, const inode_ref& n, std::int64_t now_ns);
    void unlinked(inode& n, std::int64_t now_ns);
    void changed_names(inode& directory, std::int64_t now_ns);

    // data.cpp
    result read(file_request& r);
    result write(file_request& r);
    result sync(file_request& r);
    void put_on_disk(inode& n, bool data_only);
    result allocate(file_request& r);
    result truncate(file_request& r);
    result copy_range(file_request& r);
    result lock(file_request& r);
    result list(file_request& r);

    // status.cpp
    result status(file_request& r);
    result set_mode(file_request& r);
    result set_times(file_request& r);

    result call(file_request& r);
    void put_in_order(random_source& chance);
    void restore(inode& directory, random_source& chance, std::vector<inode*>& waiting);

    name_journal journal_;
    std::uint64_t last_inode_ = 0;
    std::int64_t last_ns_ = 0;  ///< when the last thing happened
    std::uint64_t crashes_ = 0;
    std::map<std::string, int, std::less<>> refused_;
    inode_ref root_;
};

/// A change of the content, for the times.
inline void touch(inode& n, std::int64_t now_ns) noexcept {
    n.now.modified_ns = n.now.changed_ns = now_ns;
    n.is_dirty = true;
}

file_status status_of(const inode& n);

constexpr std::uint32_t owner_of_all = 1000;
constexpr std::size_t longest_name = 255;
inline bool is_too_long(std::string_view name) noexcept {
    return name.size() > longest_name;
}
constexpr std::size_t longest_path = 4096;  ///< with the zero at its end
constexpr std::uint64_t largest_file = std::uint64_t{1} << 44;

}  // namespace coracle::testing::detail
