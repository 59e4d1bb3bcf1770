#pragma once

#include "http/h2/hpack/static_table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle::http::h2::hpack {

/// The table of one direction of a connection (RFC 7541 section 2.3.2): its names and values are
/// one piece of memory, in the order in which they were added. Takes no memory while it is empty
/// and was so since `release`.
class dynamic_table {
public:
    /// The bytes that an entry counts besides its name and value (RFC 7541 section 4.1).
    static constexpr std::uint32_t overhead = 32;

    explicit dynamic_table(std::uint32_t limit) noexcept : limit_(limit) {}

    std::uint32_t limit() const noexcept { return limit_; }
    std::uint32_t count() const noexcept { return count_; }
    /// Evicts what is beyond the new limit.
    void set_limit(std::uint32_t limit) noexcept;

    /// Adds a copy of an entry whose texts are not in the table, and evicts the oldest ones for it;
    /// one that is larger than the limit empties the table. `hash` is kept for `find`. Throws
    /// std::bad_alloc, and has changed nothing then.
    void add(const table_entry& e, std::uint32_t hash = 0);

    /// Returns an entry; 0 is the newest, and `index` is less than `count()`. Its views are valid
    /// until the table is changed.
    [[nodiscard]] table_entry at(std::uint32_t index) const noexcept;

    /// Returns the index of the newest entry that is equal, or `count()`.
    [[nodiscard]] std::uint32_t find(std::string_view name, std::string_view value,
                                     std::uint32_t hash) const noexcept;
    /// Returns the index of the newest entry with this name, or `count()`.
    [[nodiscard]] std::uint32_t find_name(std::string_view name) const noexcept;

    void clear() noexcept;
    /// Empties the table and frees its memory.
    void release() noexcept;

private:
    struct slot {
        std::uint32_t begin;  ///< counted from `base_` on, modulo 2^32
        std::uint32_t name_size;
        std::uint32_t value_size;
        std::uint32_t hash;
        field_id id;
        bool well_formed;
    };

    const slot& slot_at(std::uint32_t index) const noexcept {
        return slots_[(newest_ - index) & (slot_room_ - 1)];
    }
    table_entry entry_of(const slot& s) const noexcept;
    void evict_oldest() noexcept;
    void reserve_slot(std::uint32_t kept);
    void reserve_bytes(std::uint32_t size, std::uint32_t begin);

    std::unique_ptr<slot[]> slots_;  ///< a ring; its size is a power of two
    std::unique_ptr<char[]> bytes_;
    std::uint32_t slot_room_ = 0;
    std::uint32_t byte_room_ = 0;
    std::uint32_t newest_ = 0;  ///< counted on for ever
    std::uint32_t count_ = 0;
    std::uint32_t base_ = 0;  ///< what stands at the begin of `bytes_`
    std::uint32_t end_ = 0;   ///< behind the newest entry, counted as `slot::begin`
    std::uint32_t size_ = 0;  ///< with the overhead
    std::uint32_t limit_;
};

}  // namespace coracle::http::h2::hpack
