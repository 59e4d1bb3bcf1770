#pragma once

#include "http/h2/block_cache.hpp"
#include "http/h2/hpack/encoder.hpp"

#include <coracle/base/buffer.hpp>
#include <coracle/http/field.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace coracle::http::h2 {

/// Compresses field blocks (RFC 7541). The first block creates the table. It may be freed between
/// two blocks: the next block then begins with an empty table.
class head_writer {
public:
    /// Appends a block to `out`: `control` (pseudo-fields, already in lower case), then `fields`
    /// with names in lower case, without connection-specific fields (RFC 9113 section 8.2.2).
    /// Credentials and cookies never enter a table. Returns true if the block has credentials, so
    /// that the caller overwrites it after sending. Throws std::bad_alloc.
    bool write(std::span<const field> control, std::span<const field> fields, buffer& out);

    /// Sets the size of the peer's table in bytes (SETTINGS_HEADER_TABLE_SIZE); at most `most` of
    /// it is used.
    void set_table_size(std::uint32_t bytes);

    /// Frees the table.
    void give_up() noexcept;
    /// To be called for a block that was written and that the peer does not get.
    void block_is_lost() noexcept {
        give_up();
        encoder_.repeat_limit();
    }

    static constexpr std::uint32_t most = hpack::encoder::first_limit;

private:
    std::size_t compress(std::span<const field> control, std::span<const field> fields,
                         buffer& out);

    hpack::encoder encoder_;
    std::unique_ptr<block_cache> repeated_;  ///< of the table of `encoder_`
};

}  // namespace coracle::http::h2
