#pragma once

#include "http/h2/hpack/dynamic_table.hpp"

#include <coracle/base/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http::h2::hpack {

/// The effect of a field on the tables of both sides.
enum class indexing : std::uint8_t {
    usual,  ///< is added, unless its value is unlikely to come again
    never,  ///< is in no table, here or behind intermediaries (RFC 7541 section 7.1.3)
};

/// The effect of a block on the tables of both sides.
enum class block_effect : std::uint8_t {
    none,     ///< references, and literals that are not indexed
    secret,   ///< none, but a literal is never to be indexed
    changes,  ///< entries are added, or the size changes
};

/// Encodes the field blocks of one direction of a connection (RFC 7541).
class encoder {
public:
    /// The size of a table before anything was said about it.
    static constexpr std::uint32_t first_limit = 4096;

    /// Sets the most bytes that the table of the peer may have. The next block says so.
    void set_limit(std::uint32_t bytes) noexcept;
    /// Frees the table. What the peer's still has is older than all that is added later, so that it
    /// is never referred to, and evicted first.
    void release() noexcept { table_.release(); }

    /// Repeats the last change of the limit in the next block: the peer may not have got it.
    void repeat_limit() noexcept { limit_changed_ = true; }

    /// Returns the most bytes that a field, or the begin of a block, takes in a block.
    static constexpr std::size_t room_for(std::size_t name, std::size_t value) noexcept {
        return name + value + 18;
    }
    static constexpr std::size_t room_for_begin = 12;

    /// Writes what stands before the fields of a block to `out`, which has room. Returns the end.
    char* begin_block(char* out) noexcept;
    /// Writes a field whose name is in lower case, and `id` that of the name. Returns the end.
    /// Throws std::bad_alloc: then the block is of no use, as the peer's table would differ.
    char* write(char* out, std::string_view name, std::string_view value, field_id id,
                indexing how);
    /// Returns the effect of what was written since `begin_block`.
    [[nodiscard]] block_effect effect() const noexcept { return effect_; }
    /// To be called for each block that the peer gets.
    void block_is_sent() noexcept { limit_changed_ = false; }

private:
    dynamic_table table_{first_limit};
    std::uint32_t least_limit_ = first_limit;  ///< since the last block
    bool limit_changed_ = false;
    block_effect effect_ = block_effect::none;
};

}  // namespace coracle::http::h2::hpack
