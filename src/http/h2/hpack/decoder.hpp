#pragma once

#include "http/h2/hpack/dynamic_table.hpp"
#include "http/h2/hpack/huffman.hpp"

#include <coracle/base/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http::h2::hpack {

/// Decodes the field blocks of one direction of a connection (RFC 7541), which arrive in fragments
/// cut anywhere. Knows no limit of a whole block: that is its caller's, who asks for one field
/// after the other.
class decoder {
public:
    enum class result : std::uint8_t {
        more,    ///< all of the fragment was consumed
        field,   ///< a field is complete
        failed,  ///< no field block: RFC 9113 section 4.3 makes it COMPRESSION_ERROR
    };

    /// `table_limit` is the size of the table that the peer may use, in bytes
    /// (SETTINGS_HEADER_TABLE_SIZE).
    explicit decoder(std::uint32_t table_limit) noexcept
        : table_(table_limit), most_table_(table_limit) {}

    /// To be called before the first fragment of each block.
    void begin_block() noexcept {
        fields_begun_ = table_changed_ = never_indexed_ = skips_ = false;
    }
    /// From now on fields of this block that are a table's are not appended: of a block that has
    /// gone beyond a limit each byte would cost as much as the longest entry.
    void skip_known_fields() noexcept { skips_ = true; }

    /// Decodes up to the next field, and appends its name and value to `out`, which must not be
    /// changed before that is complete. Of a field whose name and value have more than `most`
    /// bytes, at least the size of the table, nothing is appended in the end, or a part. Throws
    /// std::bad_alloc.
    result next(std::string_view& fragment, buffer& out, std::size_t most);

    /// Returns true if the block may end here.
    [[nodiscard]] bool between_fields() const noexcept {
        return state_ == state::opcode && !in_number_;
    }

    /// Returns true if this block has changed the table until now.
    [[nodiscard]] bool table_changed() const noexcept { return table_changed_; }
    /// Returns true if this block has a literal that must never be indexed.
    [[nodiscard]] bool has_never_indexed() const noexcept { return never_indexed_; }

    /// The size of the name of the field that `next` has given; the others are of it too.
    [[nodiscard]] std::size_t name_size() const noexcept { return name_size_; }
    [[nodiscard]] std::size_t value_size() const noexcept { return value_size_; }
    [[nodiscard]] field_id id() const noexcept { return id_; }
    /// Returns true if it must be a literal that is never indexed wherever it is passed on (RFC
    /// 7541 section 6.2.3).
    [[nodiscard]] bool is_never_indexed() const noexcept { return kind_ == kind::never_indexed; }
    /// Returns true if name and value are as RFC 9113 section 8.2.1 wants them, but for blanks at
    /// the ends of the value; which takes no look at those that a table has. False for
    /// pseudo-fields.
    [[nodiscard]] bool is_well_formed() const noexcept { return well_formed_; }
    /// Returns false if it was larger than `most`, or skipped.
    [[nodiscard]] bool is_whole() const noexcept { return !too_large_; }

private:
    enum class state : std::uint8_t { opcode, name_size, name, value_size, value };
    /// The representations of RFC 7541 section 6.
    enum class kind : std::uint8_t { indexed, incremental, literal, never_indexed, table_size };
    enum class step : std::uint8_t { again, field, failed };

    step advance(std::string_view& in, buffer& out, std::size_t most);
    step take_opcode(std::string_view& in, buffer& out, std::size_t most);
    step begin_number(unsigned char byte, unsigned prefix, buffer& out, std::size_t most);
    step take_number(std::string_view& in, buffer& out, std::size_t most);
    step use_number(buffer& out, std::size_t most);
    step use_index(buffer& out, std::size_t most);
    step begin_text(state text, buffer& out);
    step take_text(std::string_view& in, buffer& out, std::size_t most);
    bool append_decoded(std::string_view piece, buffer& out, std::size_t most);
    void append(std::string_view text, buffer& out, std::size_t most);
    step finish_text(buffer& out);

    dynamic_table table_;
    huffman_decoder huffman_;
    std::size_t name_size_ = 0;
    std::size_t value_size_ = 0;
    std::size_t begin_ = 0;  ///< of the field in `out`
    std::uint32_t most_table_;
    std::uint32_t number_ = 0;
    std::uint32_t left_ = 0;  ///< of a text, as it is encoded
    unsigned shift_ = 0;
    state state_ = state::opcode;
    bool in_number_ = false;  ///< behind the first byte of a number that has more
    kind kind_ = kind::indexed;
    field_id id_ = field_id::other;
    bool name_well_formed_ = false;
    bool well_formed_ = false;
    bool coded_ = false;  ///< the text is in the Huffman code
    bool too_large_ = false;
    // of this block
    bool fields_begun_ = false;  ///< the size of the table may not change any more
    bool table_changed_ = false;
    bool never_indexed_ = false;
    bool skips_ = false;
};

}  // namespace coracle::http::h2::hpack
