// A stream of server-sent events. The first byte of the input says how to cut the rest. Checked:
// any cut gives the same events and meets the same limit, and an event that is sent is received as
// it was.
#include "exact_bytes.hpp"
#include "require.hpp"

#include <coracle/http/event.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle::http;

namespace {

constexpr event_limits limits{.line = 256, .data = 512};

struct outcome {
    std::vector<received_event> events;
    std::string exceeded;
    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome read(std::string_view bytes, std::size_t step, const event_limits& with) {
    event_parser parser(with);
    outcome out;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
        const exact_bytes exact(bytes.substr(0, step));
        std::string_view in = exact.view();
        for (;;) {
            const event_parser::result r = parser.parse(in);
            require(r.consumed <= in.size());
            in.remove_prefix(r.consumed);
            if (r.what == event_parser::status::limit_exceeded) {
                out.exceeded = parser.exceeded();
                return out;
            }
            if (r.what == event_parser::status::need_more) break;
            require(parser.event().data.size() <= with.data);
            out.events.push_back(parser.event());
        }
        require(in.empty());
    }
    return out;
}

void send_again(const received_event& e) {
    std::string text;
    const server_event sent{.id = e.id, .event = e.event, .data = e.data, .retry = e.retry};
    // A type may hold what no sender may send.
    if (!append_event(text, sent)) return;
    const outcome again = read(text, text.size(), {});
    require(again.events.size() == 1);
    require(again.events.front().event == e.event && again.events.front().id == e.id);
    // A CR in the data ends a line, as a CRLF and an LF do.
    require(again.events.front().data.size() <= e.data.size());
    if (e.data.find('\r') == std::string::npos) require(again.events.front().data == e.data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > 4096) return 0;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const outcome whole = read(bytes, bytes.size(), limits);
    require(read(bytes, 1, limits) == whole);
    require(read(bytes, data[0] % 32U + 1U, limits) == whole);
    for (const received_event& e : whole.events) send_again(e);
    return 0;
}
