#include "base/ascii.hpp"
#include "mime/base64_digits.hpp"
#include "mime/parameters.hpp"

#include <coracle/mime/field.hpp>
#include <coracle/mime/quoted_printable.hpp>
#include <coracle/mime/transfer_encoding.hpp>

#include <algorithm>
#include <array>

namespace coracle::mime {
namespace {

constexpr std::array<std::string_view, 5> names = {"7bit", "8bit", "quoted-printable", "base64",
                                                   "binary"};
constexpr std::size_t line_digits = 76;
constexpr std::size_t longest_undecided = 4096;

// Returns true if an incomplete line of quoted-printable can be split here and decoded in two
// parts.
bool may_be_cut(std::string_view line, std::size_t at) noexcept {
    const char before = line[at - 1];
    if (coracle::detail::is_blank(before) || before == '\r' || before == '=') return false;
    return at < 2 || line[at - 2] != '=';
}

// The classes of bytes for quoted-printable and for plain lines.
enum class byte_kind : std::uint8_t { plain, escaped, high, nul, cr, lf };

constexpr std::array<byte_kind, 256> make_kinds() noexcept {
    std::array<byte_kind, 256> kinds{};
    for (std::size_t i = 0; i != kinds.size(); ++i) {
        kinds[i] = i >= 0x80                           ? byte_kind::high
                   : i < 0x20 || i == 0x7f || i == '=' ? byte_kind::escaped
                                                       : byte_kind::plain;
    }
    kinds[0] = byte_kind::nul;
    kinds['\t'] = byte_kind::plain;
    kinds['\r'] = byte_kind::cr;
    kinds['\n'] = byte_kind::lf;
    return kinds;
}
constexpr auto kinds = make_kinds();

}  // namespace

std::string_view to_string(transfer_encoding e) noexcept {
    return names[static_cast<std::size_t>(e)];
}

std::optional<transfer_encoding> parse_transfer_encoding(std::string_view text) noexcept {
    text = detail::trim(text);
    for (std::size_t i = 0; i != names.size(); ++i) {
        if (detail::equal_ignoring_case(text, names[i])) return static_cast<transfer_encoding>(i);
    }
    return std::nullopt;
}

void content_scan::end_line() noexcept {
    longest_ = std::max(longest_, line_);
    line_ = 0;
}

void content_scan::add(std::string_view bytes) noexcept {
    size_ += bytes.size();
    for (const char c : bytes) {
        const byte_kind kind = kinds[static_cast<unsigned char>(c)];
        if (last_ == '\r' && kind != byte_kind::lf) ++lone_cr_;
        switch (kind) {
            case byte_kind::plain: ++line_; break;
            case byte_kind::high:
                ++high_;
                ++escaped_;
                ++line_;
                break;
            case byte_kind::nul: ++nul_; [[fallthrough]];
            case byte_kind::escaped:
                ++escaped_;
                ++line_;
                break;
            case byte_kind::cr: ++line_; break;
            case byte_kind::lf:
                if (last_ == '\r')
                    --line_;
                else
                    ++lone_lf_;
                end_line();
                break;
        }
        last_ = c;
    }
}

transfer_encoding content_scan::cheapest(bool text,
                                         const transport_abilities& server) const noexcept {
    if (server.binary && !(text && lone_lf_ != 0)) {
        const bool plain = high_ == 0 && nul_ == 0 && lone_cr_ == 0 && lone_lf_ == 0 &&
                           last_ != '\r' && std::max(longest_, line_) <= longest_header_line;
        return plain ? transfer_encoding::seven_bit : transfer_encoding::binary;
    }
    const bool lines = nul_ == 0 && lone_cr_ == 0 && last_ != '\r' && (text || lone_lf_ == 0) &&
                       std::max(longest_, line_) <= longest_header_line;
    if (lines && high_ == 0) return transfer_encoding::seven_bit;
    if (lines && server.eight_bit) return transfer_encoding::eight_bit;
    // Quoted-printable breaks lines every 76 characters, as base64 does.
    const std::uint64_t quoted = quoted_size() + 2 * (lone_cr_ + (text ? 0 : lone_lf_));
    return quoted <= size_ / 3 * 4 + 3 ? transfer_encoding::quoted_printable
                                       : transfer_encoding::base64;
}

std::uint64_t base64_writer::encoded_size(std::uint64_t bytes) noexcept {
    const std::uint64_t digits = (bytes + 2) / 3 * 4;
    return digits + (digits == 0 ? 0 : (digits - 1) / line_digits * 2);
}

void base64_writer::put(const unsigned char* group, std::size_t size, std::string& out) {
    if (column_ == line_digits) {
        out += "\r\n";
        column_ = 0;
    }
    const std::uint32_t bits = static_cast<std::uint32_t>(group[0]) << 16 |
                               static_cast<std::uint32_t>(size > 1 ? group[1] : 0) << 8 |
                               static_cast<std::uint32_t>(size > 2 ? group[2] : 0);
    const char four[4] = {detail::base64_digits[bits >> 18], detail::base64_digits[bits >> 12 & 63],
                          size > 1 ? detail::base64_digits[bits >> 6 & 63] : '=',
                          size > 2 ? detail::base64_digits[bits & 63] : '='};
    out.append(four, 4);
    column_ += 4;
}

void base64_writer::add(std::string_view bytes, std::string& out) {
    out.reserve(out.size() + encoded_size(bytes.size()) + 8);
    while (!bytes.empty() && held_size_ != 0) {
        held_[held_size_++] = static_cast<unsigned char>(bytes.front());
        bytes.remove_prefix(1);
        if (held_size_ == 3) {
            put(held_, 3, out);
            held_size_ = 0;
        }
    }
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    for (; bytes.size() >= 3; bytes.remove_prefix(3), at += 3) put(at, 3, out);
    for (const char c : bytes) held_[held_size_++] = static_cast<unsigned char>(c);
}

void base64_writer::finish(std::string& out) {
    if (held_size_ != 0) put(held_, held_size_, out);
    held_size_ = 0;
}

void content_decoder::add_base64(std::string_view bytes, std::string& out) {
    out.reserve(out.size() + bytes.size() / 4 * 3 + 3);
    for (const char c : bytes) {
        const std::uint8_t digit = detail::base64_value(c);
        if (digit != detail::no_base64_digit) {
            if (ended_) damaged_ = true;
            if (ended_) continue;
            bits_ = bits_ << 6 | digit;
            if (++digits_ != 4) continue;
            const char three[3] = {static_cast<char>(bits_ >> 16), static_cast<char>(bits_ >> 8),
                                   static_cast<char>(bits_)};
            out.append(three, 3);
            bits_ = 0;
            digits_ = 0;
        } else if (c == '=') {
            if (digits_ != 0 || ended_) ended_ = true;
        } else if (!coracle::detail::is_blank(c) && c != '\r' && c != '\n') {
            damaged_ = true;
        }
    }
}

// Decodes complete lines. An "=" and blanks at the end of the input may belong to the end of a
// line, so they wait for the rest of it.
void content_decoder::add_quoted(std::string_view bytes, std::string& out) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        if (line_.empty() && end != std::string_view::npos) {
            out += quoted_printable_decode(bytes.substr(0, end + 1));
            bytes.remove_prefix(end + 1);
            continue;
        }
        const std::size_t size = end == std::string_view::npos ? bytes.size() : end + 1;
        line_ += bytes.substr(0, size);
        bytes.remove_prefix(size);
        if (end != std::string_view::npos) {
            out += quoted_printable_decode(line_);
            line_.clear();
            continue;
        }
        // Decodes the beginning of a long line, so that memory stays bounded.
        if (line_.size() < 256) continue;
        std::size_t cut = line_.size() - 1;
        while (cut != 0 && !may_be_cut(line_, cut)) --cut;
        out += quoted_printable_decode(std::string_view(line_).substr(0, cut));
        line_.erase(0, cut);
        if (line_.size() > longest_undecided) {  // only blanks and "="
            out += line_;
            line_.clear();
            damaged_ = true;
        }
    }
}

void content_decoder::add(std::string_view bytes, std::string& out) {
    switch (encoding_) {
        case transfer_encoding::base64: add_base64(bytes, out); break;
        case transfer_encoding::quoted_printable: add_quoted(bytes, out); break;
        default: out += bytes;
    }
}

void content_decoder::finish(std::string& out) {
    if (encoding_ == transfer_encoding::quoted_printable) {
        out += quoted_printable_decode(line_);
        line_.clear();
    }
    if (encoding_ != transfer_encoding::base64) return;
    if (digits_ == 1) damaged_ = true;
    if (digits_ > 1) out += static_cast<char>(bits_ >> (digits_ == 2 ? 4 : 10));
    if (digits_ == 3) out += static_cast<char>(bits_ >> 2);
    digits_ = 0;
    bits_ = 0;
}

}  // namespace coracle::mime
