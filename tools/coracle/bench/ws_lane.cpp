#include "ws_lane.hpp"

#include "worker.hpp"

#include <coracle/runtime/sleep.hpp>

#include <chrono>
#include <utility>

namespace coracle::tool::bench {
namespace {

/// A round trip has no status; they are counted as what a handshake has.
constexpr unsigned echoed = 200;

}  // namespace

task<bool> ws_lane::open() {
    const prepared_request& request = owner().to().requests().front();
    websocket::options o;
    o.timeouts.ping = {};
    o.timeouts.idle = std::chrono::hours(24);
    o.limits.message = std::uint64_t{64} << 20U;
    auto dialing = websocket::connect(*client_, request.url);
    dialing.options(o);
    for (const auto& [name, value] : request.plan->fields) dialing.header(name, value);
    auto made = co_await as_result(dialing);
    if (!made) {
        note_no_connection(made.error());
        co_return false;
    }
    ws_.emplace(*std::move(made));
    co_return true;
}

task<> ws_lane::session() {
    const bool connected = co_await open();
    if (!connected) co_return;
    counts& figures = owner().figures();
    ++figures.connections;
    co_await enter();
    for (;;) {
        const auto due = take();
        if (!due) break;
        if (is_early(*due)) co_await sleep_until(*due);
        const std::string& message = choose().plan->body;
        begin(*due);
        auto sent = co_await as_result(ws_->send(message));
        if (!sent) {
            fail(sent.error());
            co_return;
        }
        figures.bytes_out += message.size();
        auto received = co_await as_result(ws_->receive());
        if (!received) {
            fail(received.error());
            co_return;
        }
        if (!*received) {
            fail(failure_kind::lost, "the server has closed the WebSocket");
            co_return;
        }
        figures.bytes_in += (*received)->size();
        finish(echoed);
    }
    auto closing = ws_->close();
    static_cast<void>(co_await as_result(closing));
}

}  // namespace coracle::tool::bench
