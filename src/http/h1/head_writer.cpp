#include "http/message/date.hpp"

#include <coracle/http/h1/head_writer.hpp>

#include <cstring>

namespace coracle::http::h1 {

namespace {

char* put(char* out, std::string_view text) noexcept {
    if (!text.empty()) {  // an empty view may hold no pointer, which memcpy must not be given
        std::memcpy(out, text.data(), text.size());
    }
    return out + text.size();
}

// A size known when compiled becomes a few moves.
template <std::size_t Size>
char* put(char* out, const char (&text)[Size]) noexcept {
    std::memcpy(out, text, Size - 1);
    return out + Size - 1;
}

char* put_decimal(char* out, std::uint64_t value) noexcept {
    if (value < 100) {
        if (value >= 10) *out++ = static_cast<char>('0' + value / 10);
        *out++ = static_cast<char>('0' + value % 10);
        return out;
    }
    char digits[20];
    char* at = digits + sizeof digits;
    do {
        *--at = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value != 0);
    return put(out, {at, static_cast<std::size_t>(digits + sizeof digits - at)});
}

}  // namespace

char* write_status_line(char* out, status code, std::string_view reason) noexcept {
    if (code == status::ok && reason.empty()) {
        return put(out, "HTTP/1.1 200 OK\r\n");
    }
    const unsigned number = to_code(code) % 1000U;
    out = put(out, "HTTP/1.1 ");
    *out++ = static_cast<char>('0' + number / 100);
    *out++ = static_cast<char>('0' + number / 10 % 10);
    *out++ = static_cast<char>('0' + number % 10);
    *out++ = ' ';
    out = put(out, reason.empty() ? reason_phrase(code) : reason);
    return put(out, "\r\n");
}

char* write_request_line(char* out, std::string_view method, std::string_view target) noexcept {
    out = put(out, method);
    *out++ = ' ';
    out = put(out, target);
    return put(out, " HTTP/1.1\r\n");
}

char* write_field(char* out, std::string_view name, std::string_view value) noexcept {
    out = put(out, name);
    out = put(out, ": ");
    out = put(out, value);
    return put(out, "\r\n");
}

char* write_field(char* out, field_id id, std::string_view value) noexcept {
    return write_field(out, to_string(id), value);
}

char* write_content_length(char* out, std::uint64_t length) noexcept {
    return put(put_decimal(put(out, "Content-Length: "), length), "\r\n");
}

char* write_date(char* out, const char* imf_fixdate) noexcept {
    out = put(out, "Date: ");
    std::memcpy(out, imf_fixdate, http_date_size);
    return put(out + http_date_size, "\r\n");
}

char* write_connection(char* out, bool keep_alive) noexcept {
    return keep_alive ? put(out, "Connection: keep-alive\r\n") : put(out, "Connection: close\r\n");
}

char* write_transfer_encoding_chunked(char* out) noexcept {
    return put(out, "Transfer-Encoding: chunked\r\n");
}

char* write_head_end(char* out) noexcept {
    return put(out, "\r\n");
}

char* write_chunk_header(char* out, std::uint64_t size) noexcept {
    char digits[16];
    char* at = digits + sizeof digits;
    do {
        *--at = "0123456789abcdef"[size & 15];
        size >>= 4;
    } while (size != 0);
    return put(put(out, {at, static_cast<std::size_t>(digits + sizeof digits - at)}), "\r\n");
}

char* write_chunk_end(char* out) noexcept {
    return put(out, "\r\n");
}

char* write_last_chunk(char* out) noexcept {
    return put(out, "0\r\n");
}

}  // namespace coracle::http::h1
