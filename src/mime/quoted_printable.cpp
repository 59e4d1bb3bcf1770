#include "base/ascii.hpp"

#include <coracle/mime/quoted_printable.hpp>

#include <cstddef>

namespace coracle::mime {
namespace {

constexpr std::size_t longest_line = 76;
constexpr std::string_view hex = "0123456789ABCDEF";

// A line of output, with soft line breaks where it gets too long.
class line_writer {
public:
    explicit line_writer(std::string& out) noexcept : out_(&out) {}

    void plain(char c) {
        make_room(1);
        *out_ += c;
    }
    void encoded(char c) {
        make_room(3);
        const auto byte = static_cast<unsigned char>(c);
        *out_ += '=';
        *out_ += hex[byte >> 4];
        *out_ += hex[byte & 15U];
    }
    void end() {
        *out_ += "\r\n";
        column_ = 0;
    }

private:
    // Leaves one column for the "=" of a soft line break.
    void make_room(std::size_t n) {
        if (column_ + n > longest_line - 1) {
            *out_ += '=';
            end();
        }
        column_ += n;
    }

    std::string* out_;
    std::size_t column_ = 0;
};

}  // namespace

std::string quoted_printable_encode(std::string_view text, line_ends ends) {
    std::string out;
    line_writer line(out);
    for (std::size_t at = 0; at != text.size(); ++at) {
        const char c = text[at];
        const std::string_view rest = text.substr(at);
        if (ends == line_ends::text && (c == '\n' || rest.starts_with("\r\n"))) {
            line.end();
            if (c == '\r') ++at;
            continue;
        }
        // Relays may remove a blank at the end of a line.
        const bool last = rest.size() == 1 || rest[1] == '\n' || rest.substr(1).starts_with("\r\n");
        if ((c > 0x20 && c < 0x7f && c != '=') || (coracle::detail::is_blank(c) && !last))
            line.plain(c);
        else
            line.encoded(c);
    }
    return out;
}

std::string quoted_printable_decode(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        const bool crlf = end != std::string_view::npos && line.ends_with('\r');
        if (crlf) line.remove_suffix(1);
        while (!line.empty() && coracle::detail::is_blank(line.back())) line.remove_suffix(1);
        const bool soft = line.ends_with('=');
        if (soft) line.remove_suffix(1);
        for (std::size_t at = 0; at != line.size(); ++at) {
            const int high = line[at] == '=' && line.size() - at > 2
                                 ? coracle::detail::hex_value(line[at + 1])
                                 : -1;
            const int low = high >= 0 ? coracle::detail::hex_value(line[at + 2]) : -1;
            out += low >= 0 ? static_cast<char>(high << 4 | low) : line[at];
            if (low >= 0) at += 2;
        }
        if (!soft && end != std::string_view::npos) out += crlf ? "\r\n" : "\n";
    }
    return out;
}

}  // namespace coracle::mime
