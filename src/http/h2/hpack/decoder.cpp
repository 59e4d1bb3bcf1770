#include "http/h2/hpack/decoder.hpp"

#include "http/message/token.hpp"

#include <limits>

namespace coracle::http::h2::hpack {

decoder::result decoder::next(std::string_view& fragment, buffer& out, std::size_t most) {
    while (!fragment.empty()) {
        switch (advance(fragment, out, most)) {
            case step::again: break;
            case step::field: state_ = state::opcode; return result::field;
            case step::failed: return result::failed;
        }
    }
    return result::more;
}

decoder::step decoder::advance(std::string_view& in, buffer& out, std::size_t most) {
    if (in_number_) return take_number(in, out, most);
    switch (state_) {
        case state::opcode: return take_opcode(in, out, most);
        case state::name_size:
        case state::value_size: {
            const auto byte = static_cast<unsigned char>(in.front());
            in.remove_prefix(1);
            coded_ = (byte & 0x80) != 0;
            return begin_number(byte, 7, out, most);
        }
        case state::name:
        case state::value: break;
    }
    return take_text(in, out, most);
}

// The first byte of a representation (RFC 7541 section 6).
decoder::step decoder::take_opcode(std::string_view& in, buffer& out, std::size_t most) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    if ((byte & 0xe0) == 0x20) {
        // Only before the fields of a block (section 4.2).
        if (fields_begun_) return step::failed;
        kind_ = kind::table_size;
        return begin_number(byte, 5, out, most);
    }
    fields_begun_ = true;
    begin_ = out.size();
    name_size_ = value_size_ = 0;
    id_ = field_id::other;
    too_large_ = false;
    if ((byte & 0x80) != 0) {
        kind_ = kind::indexed;
        return begin_number(byte, 7, out, most);
    }
    if ((byte & 0x40) != 0) {
        kind_ = kind::incremental;
    } else {
        kind_ = (byte & 0x10) != 0 ? kind::never_indexed : kind::literal;
    }
    never_indexed_ = never_indexed_ || kind_ == kind::never_indexed;
    return begin_number(byte, kind_ == kind::incremental ? 6 : 4, out, most);
}

// A number whose first bits stand in `byte` (RFC 7541 section 5.1).
decoder::step decoder::begin_number(unsigned char byte, unsigned prefix, buffer& out,
                                    std::size_t most) {
    const std::uint32_t full = (1U << prefix) - 1;
    number_ = byte & full;
    if (number_ < full) return use_number(out, most);
    in_number_ = true;
    shift_ = 0;
    return step::again;
}

decoder::step decoder::take_number(std::string_view& in, buffer& out, std::size_t most) {
    while (!in.empty()) {
        const auto byte = static_cast<unsigned char>(in.front());
        in.remove_prefix(1);
        const std::uint64_t number = number_ + (std::uint64_t{byte & 0x7fU} << shift_);
        if (shift_ > 28 || number > std::numeric_limits<std::uint32_t>::max()) return step::failed;
        number_ = static_cast<std::uint32_t>(number);
        if ((byte & 0x80) == 0) {
            in_number_ = false;
            return use_number(out, most);
        }
        shift_ += 7;
    }
    return step::again;
}

decoder::step decoder::use_number(buffer& out, std::size_t most) {
    switch (state_) {
        case state::name_size: return begin_text(state::name, out);
        case state::value_size: return begin_text(state::value, out);
        default: break;
    }
    if (kind_ != kind::table_size) return use_index(out, most);
    if (number_ > most_table_) return step::failed;
    table_.set_limit(number_);
    table_changed_ = true;
    return step::again;
}

decoder::step decoder::use_index(buffer& out, std::size_t most) {
    if (number_ == 0) {
        if (kind_ == kind::indexed) return step::failed;
        state_ = state::name_size;
        return step::again;
    }
    const std::uint32_t later = number_ - 1 - static_cast<std::uint32_t>(static_entries);
    const bool is_static = number_ <= static_entries;
    if (!is_static && later >= table_.count()) return step::failed;
    const table_entry e = is_static ? static_entry(number_) : table_.at(later);
    id_ = e.id;
    name_size_ = e.name.size();
    // The table needs the name of one that goes there.
    if (skips_ && kind_ != kind::incremental) too_large_ = true;
    append(e.name, out, most);
    if (kind_ != kind::indexed) {
        // It may be the value of this entry that is malformed.
        name_well_formed_ = e.well_formed || (!too_large_ && is_lower_token(e.name));
        state_ = state::value_size;
        return step::again;
    }
    well_formed_ = e.well_formed;
    value_size_ = e.value.size();
    append(e.value, out, most);
    return step::field;
}

decoder::step decoder::begin_text(state text, buffer& out) {
    state_ = text;
    left_ = number_;
    huffman_.begin();
    return left_ == 0 ? finish_text(out) : step::again;
}

decoder::step decoder::take_text(std::string_view& in, buffer& out, std::size_t most) {
    const std::string_view piece = in.substr(0, left_);
    in.remove_prefix(piece.size());
    left_ -= static_cast<std::uint32_t>(piece.size());
    if (coded_) {
        if (!append_decoded(piece, out, most)) return step::failed;
    } else {
        (state_ == state::name ? name_size_ : value_size_) += piece.size();
        append(piece, out, most);
    }
    return left_ == 0 ? finish_text(out) : step::again;
}

bool decoder::append_decoded(std::string_view piece, buffer& out, std::size_t most) {
    constexpr std::size_t at_once = 4096;  // so that what is too large takes little room
    std::size_t& size = state_ == state::name ? name_size_ : value_size_;
    while (!piece.empty()) {
        const std::string_view some = piece.substr(0, at_once);
        piece.remove_prefix(some.size());
        out.reserve_spare(huffman_decoder::room_for(some.size()));
        const char* const end = huffman_.decode(some, out.spare());
        if (end == nullptr) return false;
        const auto n = static_cast<std::size_t>(end - out.spare());
        size += n;
        too_large_ = too_large_ || name_size_ + value_size_ > most;
        if (!too_large_) out.commit(n);
    }
    return true;
}

// The sizes count it already.
void decoder::append(std::string_view text, buffer& out, std::size_t most) {
    too_large_ = too_large_ || name_size_ + value_size_ > most;
    if (!too_large_) out.append(text);
}

decoder::step decoder::finish_text(buffer& out) {
    if (coded_ && !huffman_.ends_well()) return step::failed;
    const std::string_view name(out.data() + begin_, too_large_ ? 0 : name_size_);
    if (state_ == state::name) {
        id_ = find_field_id(name);
        name_well_formed_ = is_lower_token(name);
        state_ = state::value_size;
        return step::again;
    }
    const std::string_view value(name.data() + name.size(), too_large_ ? 0 : value_size_);
    well_formed_ = name_well_formed_ && is_field_value(trim_ows(value));
    if (kind_ == kind::incremental) {
        table_changed_ = true;
        // A field larger than `most` is larger than the table too (section 4.4).
        if (too_large_)
            table_.clear();
        else
            table_.add({name, value, id_, well_formed_});
    }
    return step::field;
}

}  // namespace coracle::http::h2::hpack
