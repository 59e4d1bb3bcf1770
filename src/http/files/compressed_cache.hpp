#pragma once

#include "base/lru_map.hpp"

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/coding.hpp>
#include <coracle/runtime/detail/short_lock.hpp>
#include <coracle/runtime/futex.hpp>
#include <coracle/runtime/task.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace coracle::http::detail {

/// Compressed files in memory: each is compressed once, by the first task that needs it, while the
/// others wait. Shared between loops; content that it returns never changes and outlives its entry.
class compressed_cache {
public:
    /// The key: a version of a file, and a coding.
    struct key {
        file_status file;
        content_coding coding = content_coding::gzip;
        friend bool operator<(const key& a, const key& b) noexcept;
    };
    /// Null: compression does not make it smaller.
    using content = std::shared_ptr<const std::string>;

    /// The most files compressed at a time. Further ones are sent uncompressed meanwhile, so that
    /// memory and processor time stay bounded.
    static constexpr std::size_t most_at_once = 4;

    /// `limit` in bytes, with the cost of each entry.
    explicit compressed_cache(std::size_t limit) noexcept : limit_(limit) {}
    compressed_cache(const compressed_cache&) = delete;
    compressed_cache& operator=(const compressed_cache&) = delete;

    /// Returns the content if it is cached.
    std::optional<content> find(const key& k);

    /// Returns the cached content, or compresses `file`, open, with the key `k`, on the threads for
    /// blocking work. Returns null also if the file has changed or cannot be read, and beyond
    /// `most_at_once`. Cancelling it lets another task try.
    task<content> get(const key& k, const fs::plain_file& file);

    std::size_t bytes();

private:
    struct attempt;

    std::optional<content> find_locked(const key& k);
    void finish(const std::shared_ptr<attempt>& a, std::uint32_t how,
                std::optional<content> result);
    std::shared_ptr<attempt> join(const key& k, std::optional<content>& ready, bool& mine);
    static std::size_t cost_of(const content& c) noexcept;
    void keep(const key& k, const content& c);
    void drop_beyond_limit();

    const std::size_t limit_;
    coracle::detail::short_lock lock_;
    std::size_t bytes_ = 0;
    coracle::detail::lru_map<key, content> entries_;
    std::map<key, std::shared_ptr<attempt>> attempts_;
};

}  // namespace coracle::http::detail
