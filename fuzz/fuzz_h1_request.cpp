// The head of a request. The first byte of the input says how to cut the rest. Checked: any cut and
// the scalar code give the verdict of the whole, and a head that is written again means the same.
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
    request_head head;
    std::unique_ptr<char[]> bytes;  // what `head` looks into, exactly as long as what was given
};

outcome parse(std::string_view bytes, std::size_t step, scan_mode mode) {
    outcome out;
    request_parser parser{mode};
    for (std::size_t size = step < bytes.size() ? step : bytes.size();;) {
        out.bytes.reset(new char[size + 1]);
        char* exact = out.bytes.get() + 1;  // misaligned, and ends with the block
        if (size != 0) {
            std::memcpy(exact, bytes.data(), size);
        }
        out.result = parser.parse({exact, size}, out.head, limits);
        if (out.result.status != parse_status::need_more || size == bytes.size()) {
            return out;
        }
        size = size + step < bytes.size() ? size + step : bytes.size();
    }
}

void require_same_head(const request_head& a, const request_head& b) {
    require(a.method == b.method && a.method_text == b.method_text && a.target == b.target);
    require(a.form == b.form && a.scheme == b.scheme && a.path == b.path && a.query == b.query);
    require(a.has_query == b.has_query && a.host == b.host && a.framing == b.framing);
    require(a.content_length == b.content_length && a.keep_alive == b.keep_alive);
    require(a.upgrade == b.upgrade && a.expect_continue == b.expect_continue);
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
        require(a.head.version == b.head.version);
        require_same_head(a.head, b.head);
    }
}

void require_round_trip(const request_head& head) {
    if (head.version != version::http_1_1) {
        return;  // the writer knows no other version
    }
    require(is_token(head.method_text) && is_target(head.target));
    std::size_t size = request_line_size(head.method_text, head.target) + head_end_size;
    for (const head_field& field : head.fields) {
        require(is_token(field.name) && is_field_value(field.value));
        size += field_size(field.name, field.value);
    }
    std::string written(size, '\0');
    char* out = write_request_line(written.data(), head.method_text, head.target);
    for (const head_field& field : head.fields) {
        out = write_field(out, field.name, field.value);
    }
    out = write_head_end(out);
    require(out == written.data() + size);
    request_head again;
    // A space after each colon may make the head longer than it was: other limits.
    const parse_result result = request_parser{}.parse(written, again);
    require(result.status == parse_status::complete && result.consumed == size);
    require_same_head(head, again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const outcome whole = parse(bytes, bytes.size(), scan_mode::automatic);
    require_same(whole, parse(bytes, bytes.size(), scan_mode::scalar));
    require_same(whole, parse(bytes, data[0] % 64U + 1U, scan_mode::automatic));
    require_same(whole, parse(bytes, data[0] / 4U + 1U, scan_mode::scalar));
    if (whole.result.status == parse_status::complete) {
        require(whole.result.consumed <= limits.total);
        require_round_trip(whole.head);
    }
    return 0;
}
