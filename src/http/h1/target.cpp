#include "http/h1/target.hpp"

#include "base/ascii.hpp"
#include "http/h1/scan_kernels.hpp"
#include "http/message/char_table.hpp"

#include <cstring>

namespace coracle::http::h1 {

namespace {

// Returns true for the text that may follow a host: nothing, or ":" and a port.
inline bool is_port_part(std::string_view text) noexcept {
    if (text.empty()) {
        return true;
    }
    if (text.front() != ':' || text.size() > 6) {
        return false;
    }
    for (const char byte : text.substr(1)) {
        if (static_cast<unsigned char>(byte - '0') > 9) {
            return false;
        }
    }
    // Both have five digits, so they are compared as text.
    return text.size() < 6 || text[1] < '6' || text.substr(1) <= "65535";
}

// IP-literal of RFC 3986 section 3.2.2, by its characters; "v" begins an IPvFuture.
bool is_bracketed(std::string_view inside) noexcept {
    if (inside.empty()) {
        return false;
    }
    const bool future = (inside.front() | 0x20) == 'v';
    bool colon = false;
    for (const char byte : inside) {
        colon = colon || byte == ':';
        const bool good = future
                              ? is_char(byte, char_host) || byte == ':'
                              : coracle::detail::hex_value(byte) >= 0 || byte == ':' || byte == '.';
        if (!good) {
            return false;
        }
    }
    return future || colon;
}

// Returns the size of the reg-name that `text` begins with.
std::size_t name_size(std::string_view text) noexcept {
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const char* at = begin;
    for (;;) {
        at = vector_kernel::skip_host(begin, at, end);
        if (end - at < 3 || *at != '%' || coracle::detail::hex_value(at[1]) < 0 ||
            coracle::detail::hex_value(at[2]) < 0) {
            return static_cast<std::size_t>(at - begin);
        }
        at += 3;
    }
}

void split_path(request_head& head, std::string_view text) noexcept {
    const void* mark = text.empty() ? nullptr : std::memchr(text.data(), '?', text.size());
    head.has_query = mark != nullptr;
    if (mark == nullptr) {
        head.path = text;
        head.query = {};
        return;
    }
    const auto size = static_cast<std::size_t>(static_cast<const char*>(mark) - text.data());
    head.path = text.substr(0, size);
    head.query = text.substr(size + 1);
}

// The size of a scheme followed by "://" at the start of `text`, or 0 (RFC 3986 section 3.1).
std::size_t scheme_size(std::string_view text) noexcept {
    if (!is_char(text.front(), char_alpha)) {
        return 0;
    }
    std::size_t size = 1;
    while (size < text.size() && (is_char(text[size], char_alpha | char_digit) ||
                                  text[size] == '+' || text[size] == '-' || text[size] == '.')) {
        ++size;
    }
    return text.substr(size, 3) == "://" ? size : 0;
}

parse_error split_absolute(request_head& head) noexcept {
    const std::string_view target = head.target;
    const std::size_t size = scheme_size(target);
    if (size == 0) {
        return parse_error::bad_target_form;
    }
    head.form = target_form::absolute;
    head.scheme = target.substr(0, size);
    const std::string_view rest = target.substr(size + 3);
    const std::size_t authority_size = rest.find_first_of("/?");
    head.host = rest.substr(0, authority_size);
    if (!is_host(head.host)) {
        return parse_error::bad_host;
    }
    split_path(head, authority_size == std::string_view::npos ? std::string_view{}
                                                              : rest.substr(authority_size));
    if (head.path.empty()) {
        // RFC 9112 sections 3.2.1 and 3.2.4.
        head.path = head.method == method::options && !head.has_query ? "*" : "/";
    }
    return parse_error::none;
}

// RFC 9112 section 3.2.3; the port is required (RFC 9110 section 9.3.6).
parse_error split_authority(request_head& head) noexcept {
    const std::string_view target = head.target;
    const std::size_t colon = target.rfind(':');
    if (!is_host(target) || colon == std::string_view::npos || colon + 1 == target.size() ||
        target.back() == ']') {
        return parse_error::bad_target_form;
    }
    head.form = target_form::authority;
    head.host = target;
    return parse_error::none;
}

}  // namespace

bool is_host(std::string_view text) noexcept {
    if (text.size() - 8 <= 8 && vector_kernel::is_usual_host(text.data(), text.size())) {
        return true;  // 65 instructions less for "127.0.0.1:12345"
    }
    if (text.empty()) {
        return false;
    }
    if (text.front() == '[') {
        const std::size_t close = text.find(']');
        return close != std::string_view::npos && is_bracketed(text.substr(1, close - 1)) &&
               is_port_part(text.substr(close + 1));
    }
    const std::size_t size = name_size(text);
    return size != 0 && is_port_part(text.substr(size));
}

parse_error split_target(request_head& head) noexcept {
    head.scheme = {};
    head.path = {};
    head.query = {};
    head.host = {};
    head.has_query = false;
    if (head.method == method::connect) {
        return split_authority(head);
    }
    if (head.target.front() == '/') {
        head.form = target_form::origin;
        split_path(head, head.target);
        return parse_error::none;
    }
    if (head.target == "*") {
        head.form = target_form::asterisk;
        head.path = head.target;
        return head.method == method::options ? parse_error::none : parse_error::bad_target_form;
    }
    return split_absolute(head);
}

}  // namespace coracle::http::h1
