// A chunked body. The first byte of the input says how to cut the rest. Checked: any cut gives the
// same data, trailers and verdict, and a body that is written again decodes to the same.
#include "exact_bytes.hpp"
#include "require.hpp"

#include <coracle/http/h1/chunked_decoder.hpp>
#include <coracle/http/h1/head_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

using namespace coracle::http;
using namespace coracle::http::h1;

namespace {

constexpr chunk_limits limits{.line = 64, .overhead = 128, .trailers = 256, .trailer_fields = 4};

struct outcome {
    chunk_status status = chunk_status::need_more;
    parse_error error = parse_error::none;
    std::size_t consumed = 0;
    std::string data;
    std::string trailers;  // as field lines

    friend bool operator==(const outcome&, const outcome&) = default;
};

void feed(chunked_decoder& decoder, std::string_view in, outcome& out) {
    for (;;) {
        const chunk_event event = decoder.decode(in);
        require(event.consumed <= in.size());
        require((event.status == chunk_status::data) == !event.data.empty());
        out.status = event.status;
        out.error = event.error;
        out.consumed += event.consumed;
        out.data += event.data;
        in.remove_prefix(event.consumed);
        if (event.status != chunk_status::data) {
            require(event.status != chunk_status::need_more || in.empty());
            return;
        }
    }
}

outcome decode(std::string_view bytes, std::size_t step, bool lenient,
               const chunk_limits& with = limits) {
    chunked_decoder decoder{with, lenient};
    outcome out;
    for (std::size_t at = 0; at < bytes.size() && out.status != chunk_status::end; at += step) {
        const exact_bytes exact(bytes.substr(at, step));
        feed(decoder, exact.view(), out);
        if (out.status == chunk_status::error) {
            out.consumed = 0;  // where in its piece an error stands is not told
            return out;
        }
    }
    if (out.status == chunk_status::end) {
        for (const head_field& field : decoder.trailers()) {
            out.trailers.append(field.name).append(": ").append(field.value).append("\r\n");
        }
    }
    return out;
}

void require_round_trip(const outcome& body) {
    std::string written(chunk_header_size + body.data.size() + chunk_end_size + last_chunk_size +
                            body.trailers.size() + head_end_size,
                        '\0');
    char* out = written.data();
    if (!body.data.empty()) {
        out = write_chunk_header(out, body.data.size());
        std::memcpy(out, body.data.data(), body.data.size());
        out = write_chunk_end(out + body.data.size());
    }
    out = write_last_chunk(out);
    if (!body.trailers.empty()) {
        std::memcpy(out, body.trailers.data(), body.trailers.size());
    }
    out = write_head_end(out + body.trailers.size());
    written.resize(static_cast<std::size_t>(out - written.data()));
    const outcome again = decode(written, written.size(), false, {});
    require(again.status == chunk_status::end && again.consumed == written.size());
    require(again.data == body.data && again.trailers == body.trailers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const outcome strict = decode(bytes, bytes.size(), false);
    const outcome read_leniently = decode(bytes, bytes.size(), true);
    for (const bool lenient : {false, true}) {
        const outcome& whole = lenient ? read_leniently : strict;
        require(decode(bytes, 1, lenient) == whole);
        require(decode(bytes, data[0] % 32U + 1U, lenient) == whole);
        require(whole.data.size() <= bytes.size());
        if (whole.status == chunk_status::end) {
            require_round_trip(whole);
        }
    }
    if (strict.status == chunk_status::end) {
        require(read_leniently == strict);
    }
    return 0;
}
