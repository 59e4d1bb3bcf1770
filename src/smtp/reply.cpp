#include "base/ascii.hpp"

#include <coracle/smtp/reply.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace coracle::smtp {
namespace {

// Takes a number and what ends it off the front; false: there is none.
bool take_number(std::string_view& text, unsigned most, char end, std::uint16_t& into) noexcept {
    unsigned value = 0;
    const auto r = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto size = static_cast<std::size_t>(r.ptr - text.data());
    if (r.ec != std::errc() || size == 0 || size > 3 || value > most) return false;
    if (size < text.size() && text[size] != end) return false;
    if (end != ' ' && size == text.size()) return false;
    text.remove_prefix(std::min(size + 1, text.size()));
    into = static_cast<std::uint16_t>(value);
    return true;
}

// RFC 2034 section 4: at the front of the text, of the class of the reply.
enhanced_code take_enhanced(std::uint16_t code, std::string_view& text) noexcept {
    const auto kind = static_cast<char>('0' + code / 100);
    if (text.size() < 5 || text[0] != kind || text[1] != '.') return {};
    if (kind != '2' && kind != '4' && kind != '5') return {};
    std::string_view rest = text.substr(2);
    enhanced_code e;
    if (!take_number(rest, 999, '.', e.subject) || !take_number(rest, 999, ' ', e.detail)) {
        return {};
    }
    e.kind = static_cast<std::uint8_t>(code / 100);
    text = rest;
    return e;
}

bool is_text(std::string_view text) noexcept {
    return text.find('\0') == text.npos && text.find('\r') == text.npos;
}

}  // namespace

std::string enhanced_code::to_string() const {
    if (kind == 0) return {};
    std::string out = std::to_string(kind);
    return out.append(".")
        .append(std::to_string(subject))
        .append(".")
        .append(std::to_string(detail));
}

std::string reply::text() const {
    std::string all;
    for (const std::string& line : lines) {
        if (!all.empty()) all += ' ';
        all += line;
    }
    return all;
}

std::string reply::to_string() const {
    std::string all = std::to_string(code);
    if (enhanced) all.append(" ").append(enhanced.to_string());
    const std::string said = text();
    if (!said.empty()) all.append(" ").append(said);
    return all;
}

// Three digits, then "-" where lines follow (RFC 5321 section 4.2.1).
reply_fault reply_parser::end_line(std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    const bool digits = text.size() >= 3 && text[0] >= '2' && text[0] <= '5' &&
                        coracle::detail::is_digit(text[1]) && coracle::detail::is_digit(text[2]);
    if (!digits || !is_text(text)) return reply_fault::malformed;
    const auto code =
        static_cast<std::uint16_t>((text[0] - '0') * 100 + (text[1] - '0') * 10 + (text[2] - '0'));
    const char after = text.size() > 3 ? text[3] : ' ';
    if (after != ' ' && after != '-') return reply_fault::malformed;
    if (!reply_.lines.empty() && code != reply_.code) return reply_fault::malformed;
    if (reply_.lines.size() == limits_.lines) return reply_fault::too_many_lines;
    text.remove_prefix(std::min<std::size_t>(4, text.size()));
    const enhanced_code e = take_enhanced(code, text);
    if (reply_.lines.empty()) {
        reply_.code = code;
        reply_.enhanced = e;
    }
    reply_.lines.emplace_back(text);
    last_ = after == ' ';
    return reply_fault::none;
}

reply_parser::result reply_parser::parse(std::string_view in) {
    result r;
    while (!in.empty()) {
        const std::size_t end = in.find('\n');
        const std::size_t size = end == std::string_view::npos ? in.size() : end;
        if (line_.size() + size + 1 > limits_.line) {
            r.fault = reply_fault::line_too_long;
            return r;
        }
        std::string_view line = in.substr(0, size);
        const bool whole = end != std::string_view::npos;
        if (!whole || !line_.empty()) line = line_ += line;
        if (!whole) {
            r.consumed += size;
            return r;
        }
        r.consumed += size + 1;
        in.remove_prefix(size + 1);
        r.fault = end_line(line);
        line_.clear();
        if (r.fault != reply_fault::none) return r;
        if (last_) {
            r.complete = true;
            return r;
        }
    }
    return r;
}

reply reply_parser::take() noexcept {
    last_ = false;
    return std::exchange(reply_, {});
}

bool capabilities::offers(std::string_view mechanism) const noexcept {
    return std::ranges::find(mechanisms, mechanism) != mechanisms.end();
}

namespace {

// "AUTH PLAIN LOGIN", and "AUTH=PLAIN" as old servers have it.
void add_mechanisms(capabilities& c, std::string_view names) {
    constexpr std::size_t most = 64;
    while (!names.empty() && c.mechanisms.size() < most) {
        const std::string name = coracle::detail::upper(coracle::detail::take_item(names, ' '));
        if (!name.empty() && !c.offers(name)) c.mechanisms.push_back(name);
    }
}

}  // namespace

capabilities read_capabilities(const reply& r) {
    capabilities c;
    c.extended = true;
    for (std::size_t i = 1; i < r.lines.size(); ++i) {
        std::string_view rest = coracle::detail::trim_blanks(r.lines[i]);
        if (coracle::detail::upper(rest.substr(0, 5)) == "AUTH=") {
            add_mechanisms(c, rest.substr(5));
            continue;
        }
        const std::string keyword = coracle::detail::upper(coracle::detail::take_item(rest, ' '));
        if (keyword == "PIPELINING") c.pipelining = true;
        if (keyword == "8BITMIME") c.eight_bit = true;
        if (keyword == "SMTPUTF8") c.utf8 = true;
        if (keyword == "CHUNKING") c.chunking = true;
        if (keyword == "BINARYMIME") c.binary = true;
        if (keyword == "DSN") c.dsn = true;
        if (keyword == "ENHANCEDSTATUSCODES") c.enhanced_codes = true;
        if (keyword == "STARTTLS") c.starttls = true;
        if (keyword == "REQUIRETLS") c.require_tls = true;
        if (keyword == "AUTH") add_mechanisms(c, rest);
        if (keyword == "SIZE") {
            c.size = true;
            const std::string_view number = coracle::detail::trim_blanks(rest);
            std::uint64_t largest = 0;
            const auto end = number.data() + number.size();
            const auto read = std::from_chars(number.data(), end, largest);
            if (read.ec == std::errc() && read.ptr == end) c.largest = largest;
        }
    }
    return c;
}

}  // namespace coracle::smtp
