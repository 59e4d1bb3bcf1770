// The fields traceparent and tracestate (W3C Trace Context): the first line of the input is the
// former, all others are lines of the latter. Checked: what is read is valid, within the limits of
// the recommendation, and reads the same when it is written.
#include "base/ascii.hpp"
#include "http/message/token.hpp"
#include "require.hpp"

#include <coracle/http/fields.hpp>
#include <coracle/http/middleware/trace_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using namespace coracle::http;

namespace {

std::string_view next_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return line;
}

bool same_place(const trace_context& a, const trace_context& b) {
    return a.trace == b.trace && a.span == b.span && a.sampled == b.sampled;
}

void check_parent(std::string_view parent) {
    const auto is_zero = [](std::uint8_t b) { return b == 0; };
    const auto read = trace_context::parse(parent);
    if (!read) return;
    require(!std::ranges::all_of(read->trace, is_zero));
    require(!std::ranges::all_of(read->span, is_zero));
    require(read->state.empty());
    const std::string written = read->text();
    require(written.size() == 55);
    const auto again = trace_context::parse(written);
    require(again && same_place(*again, *read));
    // All but the version and the flags stay as they came.
    require(written.substr(2, 51) == parent.substr(2, 51));
    // Version 00 has nothing more.
    if (parent.starts_with("00")) require(parent.size() == 55);
}

std::optional<trace_context> read_lines(std::vector<field>& lines) {
    fields received;
    received.adopt(lines.data(), lines.size());
    return trace_context::in(received);
}

void check_state(std::string_view state) {
    require(state.size() <= 512);
    require(std::ranges::count(state, '=') <= 32);
    require(
        std::ranges::all_of(state, [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest{reinterpret_cast<const char*>(data), size};
    const std::string_view parent = next_line(rest);
    check_parent(parent);
    // As a parser hands them over: `fields::add` would refuse some.
    std::vector<field> lines{{"traceparent", trim_ows(parent)}};
    while (!rest.empty()) lines.push_back({"TraceState", trim_ows(next_line(rest))});
    const auto read = read_lines(lines);
    if (!read) return 0;
    check_state(read->state);

    fields sent;
    sent.add("traceparent", read->text());
    if (!read->state.empty()) sent.add("tracestate", read->state);
    const auto again = trace_context::in(sent);
    require(again && same_place(*again, *read) && again->state == read->state);

    lines.push_back({"Traceparent", parent});
    require(!read_lines(lines));
    return 0;
}
