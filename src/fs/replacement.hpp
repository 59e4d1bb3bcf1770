#pragma once

#include <coracle/fs/file.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <string>

namespace coracle::fs::detail {

/// A file that is written next to its final path and gets that name only when it is complete. One
/// that was begun ends by `commit`, or by `abandon`, which removes it; one that is destroyed before
/// is removed by a task of its own.
class replacement {
public:
    using result = std::expected<void, error>;

    replacement() = default;
    replacement(const replacement&) = delete;
    replacement& operator=(const replacement&) = delete;
    ~replacement();

    /// Chooses a temporary name and opens it. `target` is the final path; the umask applies to
    /// `mode`.
    task<result> begin(std::string target, unsigned mode);
    const file& content() const noexcept { return content_; }
    /// Sets another name in the same directory, for the next `commit` after one that found its name
    /// taken.
    void name_it(std::string target) { target_ = std::move(target); }

    /// Renames it to its final name. With `durable`, content and name are on the disk then.
    task<result> commit(renaming how, bool durable);
    /// Removes it, also in a cancelled task.
    task<void> abandon();

private:
    task<result> give_name(renaming how);

    std::string target_;
    std::string temporary_;  ///< empty: there is none
    file content_;
};

/// Returns the final target of a chain of symbolic links, whether it exists or not.
task<std::expected<std::string, error>> follow_links(std::string path);

/// Follows links as `follow_links` does, for a file that is to be replaced. Fails with
/// `operation_not_supported` where that would put a file in the place of a device, a FIFO, a socket
/// or a directory.
task<std::expected<std::string, error>> replaceable(std::string path);

/// The time that work has which goes on in a cancelled task, so that nothing is left half done.
inline constexpr duration cleanup_limit = std::chrono::seconds(10);

/// Removes a file that is of no use, also in a cancelled task.
task<> remove_temporary(std::string name);

/// Returns the directory of a path.
std::string directory_of(const std::string& path);

/// Returns an unpredictable name in the directory of `path`.
std::string name_beside(const std::string& path);

}  // namespace coracle::fs::detail
