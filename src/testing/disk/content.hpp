#pragma once

#include "testing/random.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string_view>

namespace coracle::testing::detail {

/// The state that all files of a disk share: its free space, and the chance by which it works by
/// itself.
struct medium {
    std::uint64_t capacity = 0;  ///< bytes
    std::uint64_t used = 0;
    random_source chance{0};

    std::uint64_t room() const noexcept { return capacity > used ? capacity - used : 0; }
};

/// The bytes of a file, twice: as programs see them, and as they have reached the disk. In pages,
/// of which those that are missing are zeros; pages that have not changed since they reached the
/// disk are shared between the two. The disk may write a changed page at any time, as a system does
/// that wants its memory back.
class file_content {
public:
    static constexpr std::size_t page_size = 4096;
    static constexpr std::size_t sector_size = 512;  ///< what a disk writes whole or not at all

    explicit file_content(medium& m) noexcept : medium_(&m) {}
    file_content(const file_content&) = delete;
    file_content& operator=(const file_content&) = delete;
    ~file_content() { release(); }

    std::uint64_t size() const noexcept { return size_; }
    std::uint64_t allocated() const noexcept { return pages_.size() * page_size; }

    std::size_t read(std::uint64_t from, char* into, std::size_t size) const;
    /// Writes as many bytes as the disk has space for. Returns their number.
    std::size_t write(std::uint64_t at, std::string_view bytes);
    void truncate(std::uint64_t size);
    /// Room for `size` bytes; false when there is not so much.
    bool allocate(std::uint64_t at, std::uint64_t size);
    /// Makes these bytes zeros without room.
    void punch(std::uint64_t at, std::uint64_t size);

    /// Writes all of it to the disk.
    void sync();
    /// The disk fails to write: what was to reach it does or does not, by chance, and is not tried
    /// again unless it is written again.
    void fail_to_sync();
    /// Frees the space of a file that no program can reach any more, but for what has reached the
    /// disk.
    void release();
    /// Crashes: changes that had not reached the disk have, or have not, or in parts.
    void crash(random_source& chance);

private:
    struct page {
        char bytes[page_size] = {};
    };
    using page_ref = std::shared_ptr<page>;  // null: room, and zeros
    using page_map = std::map<std::uint64_t, page_ref>;

    page* change(std::uint64_t index);
    void drop(std::uint64_t index);
    void zero(std::uint64_t index, std::size_t from, std::size_t to);
    void may_reach_disk(std::uint64_t index);
    void reach_disk(std::uint64_t index);
    void tear(std::uint64_t index, random_source& chance);
    void set_size(std::uint64_t size);
    std::uint64_t size_after_crash(random_source& chance) const;

    medium* medium_;
    page_map pages_;
    page_map durable_;
    std::set<std::uint64_t> dirty_;  // what a sync would write
    std::uint64_t size_ = 0;
    std::uint64_t durable_size_ = 0;
    bool size_is_dirty_ = false;
};

}  // namespace coracle::testing::detail
