// The head of a response. The first byte of the input says what was asked and how to cut the rest.
// Checked: any cut and the scalar code give the verdict of the whole, and a head that is written
// again means the same.
#include "http/message/token.hpp"
#include "require.hpp"

#include <coracle/http/h1/head_parser.hpp>
#include <coracle/http/h1/head_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

using namespace coracle::http;
using namespace coracle::http::h1;

namespace {

constexpr head_limits limits{.total = 2048, .fields = 16, .request_line = 256, .field = 512};

struct outcome {
    parse_result result;
    response_head head;
    std::unique_ptr<char[]> bytes;  // what `head` looks into, exactly as long as what was given
};

outcome parse(std::string_view bytes, method asked, std::size_t step, scan_mode mode) {
    outcome out;
    response_parser parser{mode};
    for (std::size_t size = step < bytes.size() ? step : bytes.size();;) {
        out.bytes.reset(new char[size + 1]);
        char* exact = out.bytes.get() + 1;  // misaligned, and ends with the block
        if (size != 0) {
            std::memcpy(exact, bytes.data(), size);
        }
        out.result = parser.parse({exact, size}, asked, out.head, limits);
        if (out.result.status != parse_status::need_more || size == bytes.size()) {
            return out;
        }
        size = size + step < bytes.size() ? size + step : bytes.size();
    }
}

void require_same_head(const response_head& a, const response_head& b) {
    require(a.code == b.code && a.framing == b.framing && a.content_length == b.content_length);
    require(a.keep_alive == b.keep_alive && a.upgrade == b.upgrade);
    require(a.fields.size() == b.fields.size());
    for (std::size_t i = 0; i < a.fields.size(); ++i) {
        require(a.fields[i].name == b.fields[i].name && a.fields[i].value == b.fields[i].value);
        require(a.fields[i].id == b.fields[i].id);
    }
}

void require_same(const outcome& a, const outcome& b) {
    require(a.result.status == b.result.status && a.result.error == b.result.error);
    require(a.result.consumed == b.result.consumed);
    if (a.result.status == parse_status::complete) {
        require(a.head.version == b.head.version && a.head.reason == b.head.reason);
        require_same_head(a.head, b.head);
    }
}

void require_round_trip(const response_head& head, method asked) {
    if (head.version != version::http_1_1) {
        return;  // the writer knows no other version
    }
    require(is_reason_phrase(head.reason) && head.code >= 100 && head.code <= 999);
    std::size_t size = status_line_size(head.reason) + head_end_size;
    for (const head_field& field : head.fields) {
        require(is_token(field.name) && is_field_value(field.value));
        size += field_size(field.name, field.value);
    }
    std::string written(size, '\0');
    char* out = write_status_line(written.data(), static_cast<status>(head.code), head.reason);
    for (const head_field& field : head.fields) {
        out = write_field(out, field.name, field.value);
    }
    out = write_head_end(out);
    require(out <= written.data() + size);
    written.resize(static_cast<std::size_t>(out - written.data()));
    response_head again;
    const parse_result result = response_parser{}.parse(written, asked, again);
    require(result.status == parse_status::complete && result.consumed == written.size());
    require(again.reason ==
            (head.reason.empty() ? reason_phrase(static_cast<status>(head.code)) : head.reason));
    require_same_head(head, again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    constexpr method asked_for[] = {method::get, method::head, method::connect, method::post};
    const method asked = asked_for[data[0] % 4U];
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const outcome whole = parse(bytes, asked, bytes.size(), scan_mode::automatic);
    require_same(whole, parse(bytes, asked, bytes.size(), scan_mode::scalar));
    require_same(whole, parse(bytes, asked, data[0] % 64U + 1U, scan_mode::automatic));
    require_same(whole, parse(bytes, asked, data[0] / 4U + 1U, scan_mode::scalar));
    if (whole.result.status == parse_status::complete) {
        require(whole.result.consumed <= limits.total);
        require_round_trip(whole.head, asked);
    }
    return 0;
}
