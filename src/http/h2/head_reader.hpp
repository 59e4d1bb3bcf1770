#pragma once

#include "http/h2/head.hpp"
#include "http/h2/head_check.hpp"
#include "http/h2/hpack/decoder.hpp"
#include "http/h2/known_heads.hpp"

#include <coracle/base/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace coracle::http::h2 {

/// Limits of a field block.
struct block_limits {
    std::uint32_t bytes = 65536;  ///< names, values, and 32 for each field
    std::uint32_t fields = 100;   ///< field lines; pseudo-fields do not count
};

/// Decompresses the field blocks of one direction of a connection (RFC 7541) and collects each into
/// a head. A malformed or too large block is still decompressed to its end, because later blocks
/// depend on the compression state, but its fields are dropped. Between blocks little more than
/// that state is in memory.
class head_reader {
public:
    void begin(head_kind kind, const block_limits& limits, bool extended_connect);

    /// Returns the head of this whole block, if it came before and cannot mean another; null: it is
    /// to be read. Valid until the next block begins.
    [[nodiscard]] const head* find(std::string_view block) const noexcept {
        return known_.find(block, kind_);
    }

    /// Reads a fragment of the block. Returns false if it cannot be decompressed: the connection
    /// must end with COMPRESSION_ERROR.
    [[nodiscard]] bool read(std::string_view fragment, bool last);

    /// To be called after the last fragment; `block` is all of it where it came in one, else empty.
    /// If it returns `none`, `out` has views that are valid until `release`.
    [[nodiscard]] head_fault finish(std::string_view block, head& out);

    /// Frees the memory of the last head, except a list of lines that the next head reuses.
    void release() noexcept;

    /// Frees that list too, and the heads that are known; for an idle connection.
    void trim() noexcept {
        lines_ = {};
        known_.release();
    }

private:
    struct line {
        std::uint32_t name;
        std::uint32_t name_size;
        std::uint32_t value;
        std::uint32_t value_size;
        field_id id;
        bool well_formed;
        bool never_indexed;
    };
    /// The size of the peer's table, which is what it is without a setting (RFC 9113
    /// section 6.5.2).
    static constexpr std::uint32_t table_size = 4096;

    void add_field();
    void trim(std::uint32_t& begin, std::uint32_t& size) const noexcept;
    [[nodiscard]] bool exceeds_a_limit(bool is_pseudo_field) noexcept;
    [[nodiscard]] std::string_view at(std::uint32_t offset, std::uint32_t size) const noexcept;
    [[nodiscard]] std::string_view join_cookies();

    hpack::decoder decoder_{table_size};
    known_heads known_;  ///< of the table of `decoder_`
    block_limits limits_;
    buffer text_;  ///< names and values, one after the other
    std::vector<line> lines_;
    std::uint64_t cost_ = 0;
    std::uint32_t pseudo_fields_ = 0;
    std::uint32_t cookies_ = 0;
    std::uint32_t cookie_bytes_ = 0;
    head_kind kind_ = head_kind::request;
    bool extended_connect_ = false;
    head_fault excess_ = head_fault::none;
};

}  // namespace coracle::http::h2
