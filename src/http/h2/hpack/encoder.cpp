#include "http/h2/hpack/encoder.hpp"

#include "http/h2/hpack/huffman.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::http::h2::hpack {

namespace {

// The first bits of each representation (RFC 7541 section 6).
constexpr unsigned indexed = 0x80;
constexpr unsigned incremental = 0x40;
constexpr unsigned table_size = 0x20;
constexpr unsigned never_indexed = 0x10;
constexpr unsigned not_indexed = 0;

// A number whose first byte has `flags` before `prefix` bits of it (RFC 7541 section 5.1).
char* write_number(char* out, unsigned flags, unsigned prefix, std::uint32_t number) noexcept {
    const std::uint32_t full = (1U << prefix) - 1;
    if (number < full) {
        *out++ = static_cast<char>(flags | number);
        return out;
    }
    *out++ = static_cast<char>(flags | full);
    number -= full;
    for (; number >= 0x80; number >>= 7) *out++ = static_cast<char>(0x80 | (number & 0x7f));
    *out++ = static_cast<char>(number);
    return out;
}

char* write_text(char* out, std::string_view text) noexcept {
    const std::size_t coded = huffman_size(text);
    if (coded < text.size()) {
        out = write_number(out, 0x80, 7, static_cast<std::uint32_t>(coded));
        return huffman_encode(out, text);
    }
    out = write_number(out, 0, 7, static_cast<std::uint32_t>(text.size()));
    if (!text.empty()) std::memcpy(out, text.data(), text.size());
    return out + text.size();
}

std::uint64_t mixed(std::uint64_t state, std::uint64_t bits) noexcept {
    state = (state ^ bits) * 0x9e3779b97f4a7c15;
    return state ^ state >> 32;
}

// Size, begin and end: what is equal in these is compared as a whole anyway.
std::uint64_t mixed(std::uint64_t state, std::string_view text) noexcept {
    state = mixed(state, text.size());
    std::uint64_t bits = 0;
    if (text.size() < sizeof bits) {
        if (!text.empty()) std::memcpy(&bits, text.data(), text.size());
        return mixed(state, bits);
    }
    std::memcpy(&bits, text.data(), sizeof bits);
    state = mixed(state, bits);
    std::memcpy(&bits, text.data() + text.size() - sizeof bits, sizeof bits);
    return mixed(state, bits);
}

std::uint32_t hash_of(std::string_view name, std::string_view value, field_id id) noexcept {
    const auto state = static_cast<std::uint64_t>(id);
    return static_cast<std::uint32_t>(
        mixed(id != field_id::other ? state : mixed(state, name), value));
}

// Fields whose values seldom come again on a connection: adding them would evict what does.
bool is_fleeting(field_id id, std::string_view name) noexcept {
    switch (id) {
        case field_id::age:
        case field_id::content_length:
        case field_id::content_range:
        case field_id::etag:
        case field_id::if_modified_since:
        case field_id::if_none_match:
        case field_id::location:
        case field_id::range: return true;
        default: return name == ":path";
    }
}

}  // namespace

void encoder::set_limit(std::uint32_t bytes) noexcept {
    if (bytes == table_.limit() && !limit_changed_) return;
    least_limit_ = limit_changed_ ? std::min(least_limit_, bytes) : bytes;
    limit_changed_ = true;
    table_.set_limit(bytes);
}

// The least size since the last block, and the last one (RFC 7541 section 4.2).
char* encoder::begin_block(char* out) noexcept {
    effect_ = limit_changed_ ? block_effect::changes : block_effect::none;
    if (!limit_changed_) return out;
    if (least_limit_ < table_.limit()) out = write_number(out, table_size, 5, least_limit_);
    return write_number(out, table_size, 5, table_.limit());
}

char* encoder::write(char* out, std::string_view name, std::string_view value, field_id id,
                     indexing how) {
    constexpr auto later = static_cast<std::uint32_t>(static_entries) + 1;
    auto index = static_cast<std::uint32_t>(find_static_name(id, name));
    unsigned flags = never_indexed;
    std::uint32_t hash = 0;
    if (how == indexing::usual) {
        const std::size_t whole = index != 0 ? find_static_value(index, value) : 0;
        if (whole != 0) return write_number(out, indexed, 7, static_cast<std::uint32_t>(whole));
        flags = not_indexed;
        if (!is_fleeting(id, name)) {
            hash = hash_of(name, value, id);
            const std::uint32_t found = table_.find(name, value, hash);
            if (found != table_.count()) return write_number(out, indexed, 7, later + found);
            const std::size_t size = name.size() + value.size() + dynamic_table::overhead;
            if (size <= table_.limit() / 4 * 3) flags = incremental;
        }
    }
    if (index == 0) {
        const std::uint32_t found = table_.find_name(name);
        if (found != table_.count()) index = later + found;
    }
    if (flags == incremental) table_.add({.name = name, .value = value, .id = id}, hash);
    if (flags == incremental)
        effect_ = block_effect::changes;
    else if (flags == never_indexed)
        effect_ = std::max(effect_, block_effect::secret);
    out = write_number(out, flags, flags == incremental ? 6 : 4, index);
    if (index == 0) out = write_text(out, name);
    return write_text(out, value);
}

}  // namespace coracle::http::h2::hpack
