#pragma once

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/coding.hpp>
#include <coracle/runtime/futex.hpp>
#include <coracle/runtime/short_lock.hpp>
#include <coracle/runtime/task.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace coracle::http::detail {

/// Compressed files in memory: each is compressed once, by whoever asks first, while the others
/// wait. Shared between loops; what it gives is never changed and outlives its place here.
class compressed_cache {
public:
    /// The content of a file as it is now, in a coding.
    struct key {
        file_status file;
        content_coding coding = content_coding::gzip;
        friend bool operator==(const key& a, const key& b) noexcept;
    };
    /// Null: does not become smaller.
    using content = std::shared_ptr<const std::string>;

    /// Files that are compressed at a time. Others go out as they are meanwhile: neither memory nor
    /// processors are given away without a bound.
    static constexpr std::size_t most_at_once = 4;

    /// `limit` in bytes, with the cost of each entry.
    explicit compressed_cache(std::size_t limit) noexcept : limit_(limit) {}
    compressed_cache(const compressed_cache&) = delete;
    compressed_cache& operator=(const compressed_cache&) = delete;

    /// What is there already.
    std::optional<content> find(const key& k);

    /// What is there, or what comes of compressing `file`, open, of which `k` tells, on the threads
    /// for blocking work. Null also when the file changed meanwhile, when it cannot be read, and
    /// beyond `most_at_once`. Cancelling it lets another one try.
    task<content> get(const key& k, const fs::plain_file& file);

    std::size_t bytes();

private:
    struct attempt;
    struct entry {
        key of;
        content bytes;

        /// What it takes, with about what the maps take.
        std::size_t cost() const noexcept { return 256 + (bytes ? bytes->size() : 0); }
    };
    struct hash {
        std::size_t operator()(const key& k) const noexcept;
    };

    std::optional<content> find_locked(const key& k);
    void finish(const std::shared_ptr<attempt>& a, std::uint32_t how,
                std::optional<content> result);
    std::shared_ptr<attempt> join(const key& k, std::optional<content>& ready, bool& mine);
    void keep(const key& k, const content& c, std::list<entry>& dropped);

    const std::size_t limit_;
    coracle::detail::short_lock lock_;
    std::size_t bytes_ = 0;
    std::list<entry> used_;  // the latest first
    std::unordered_map<key, std::list<entry>::iterator, hash> entries_;
    std::unordered_map<key, std::shared_ptr<attempt>, hash> attempts_;
};

}  // namespace coracle::http::detail
