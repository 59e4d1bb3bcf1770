#include "http/message/token.hpp"
#include "http/message/trailer.hpp"

#include <coracle/base/error.hpp>
#include <coracle/http/h1.hpp>

#include <algorithm>

namespace coracle::http::h1 {
namespace {

void require(bool holds, const char* what, std::string_view text) {
    if (!holds) throw_exception(error(std::errc::invalid_argument, what).on(text));
}

std::size_t checked_size(std::span<const field> fields) {
    std::size_t size = head_end_size;
    for (const field& f : fields) {
        require(is_token(f.name), "field name", f.name);
        require(is_field_value(f.value), "field value", f.name);
        size += field_size(f.name, f.value);
    }
    return size;
}

/// `write(to)` puts at most `bound` bytes and gives where they end.
template <class Write>
void append(std::string& out, std::size_t bound, Write write) {
    const std::size_t before = out.size();
    out.resize(before + bound);
    const char* const end = write(out.data() + before);
    out.resize(static_cast<std::size_t>(end - out.data()));
}

char* write_fields(char* to, std::span<const field> fields) noexcept {
    for (const field& f : fields) to = write_field(to, f.name, f.value);
    return write_head_end(to);
}

}  // namespace

void append_request_head(std::string& out, std::string_view method, std::string_view target,
                         std::span<const field> fields) {
    require(is_token(method), "method", method);
    const bool is_ascii = std::ranges::all_of(target, [](char c) { return (c & 0x80) == 0; });
    require(is_target(target) && is_ascii, "target", target);
    const std::size_t bound = request_line_size(method, target) + checked_size(fields);
    append(out, bound,
           [&](char* to) { return write_fields(write_request_line(to, method, target), fields); });
}

void append_response_head(std::string& out, status code, std::span<const field> fields,
                          std::string_view reason) {
    require(to_code(code) >= 100 && to_code(code) <= 999, "status", std::to_string(to_code(code)));
    require(is_reason_phrase(reason), "reason", reason);
    const std::size_t bound = status_line_size(reason) + checked_size(fields);
    append(out, bound,
           [&](char* to) { return write_fields(write_status_line(to, code, reason), fields); });
}

void append_chunk(std::string& out, std::string_view data) {
    if (data.empty()) return;
    append(out, chunk_header_size, [&](char* to) { return write_chunk_header(to, data.size()); });
    out.append(data).append("\r\n");
}

void append_last_chunk(std::string& out, std::span<const field> trailers) {
    const std::size_t bound = last_chunk_size + checked_size(trailers);
    for (const field& f : trailers) {
        require(may_be_trailer(find_field_id(f.name)), "trailer", f.name);
    }
    append(out, bound, [&](char* to) { return write_fields(write_last_chunk(to), trailers); });
}

}  // namespace coracle::http::h1
