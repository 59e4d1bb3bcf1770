#include "h2_lane.hpp"

#include "worker.hpp"

#include <coracle/runtime/sleep.hpp>

#include <chrono>
#include <utility>

namespace coracle::tool::bench {

namespace {

http::client_options options_for(const load_plan& plan) {
    http::client_options o = plan.client;
    o.http_version = http::version_choice::http_2;
    o.accept_compression = false;
    // The lane keeps the time.
    o.first_byte_timeout = {};
    o.idle_timeout = {};
    o.total_timeout = {};
    o.retry = {};
    return o;
}

http::client_options options_with_times(const load_plan& plan) {
    http::client_options o = options_for(plan);
    o.first_byte_timeout = plan.timeout;
    o.idle_timeout = plan.timeout;
    return o;
}

http::pool_options pool_for(const load_plan& plan) {
    http::pool_options p;
    p.connections_per_host = 1;
    p.connections = 1;
    p.streams = plan.streams;
    p.idle_time = std::chrono::hours(24);
    return p;
}

}  // namespace

h2_connection::h2_connection(const load_plan& plan) : client(options_for(plan), pool_for(plan)) {}

http::call h2_lane::call_of(const prepared_request& request) {
    http::call c = connection_->client.request(request.plan->method, request.url);
    for (const auto& [name, value] : request.plan->fields) c.add_header(name, value);
    if (!request.plan->body.empty()) {
        const bool typed = request.plan->has_field("Content-Type");
        c.body(http::body(std::string(request.plan->body)),
               typed ? "" : "application/octet-stream");
    }
    return c;
}

void h2_lane::note_failure(const error& e, bool counted) {
    if (counted) {
        fail(e);
        return;
    }
    const bool late = e.phase() == phase::first_byte || e.phase() == phase::receive;
    const bool is_ours = late && e == std::errc::timed_out;
    note_no_connection(e, is_ours ? "no response: timeout (--timeout)" : "");
}

/// False when it has failed. One that is not counted opens the connection, and keeps the time
/// itself.
task<bool> h2_lane::exchange(const prepared_request& request, bool counted) {
    auto calling = call_of(request);
    if (!counted) calling.options(options_with_times(owner().to().plan()));
    auto response = co_await as_result(calling);
    if (!response) {
        note_failure(response.error(), counted);
        co_return false;
    }
    std::uint64_t bytes = 0;
    for (;;) {
        auto piece = co_await as_result(response->read());
        if (!piece) {
            note_failure(piece.error(), counted);
            co_return false;
        }
        if (piece->empty()) break;
        bytes += piece->size();
    }
    if (!counted) co_return true;
    owner().figures().bytes_in += bytes;
    owner().figures().bytes_out += request.plan->body.size();
    finish(static_cast<unsigned>(response->status()));
    co_return true;
}

/// Opens the connection, or waits until the first lane of it has: the calls of all would open it,
/// too, and the first latencies would be those of the handshake.
task<bool> h2_lane::open() {
    h2_connection& c = *connection_;
    const bool first = index() % owner().to().plan().streams == 0;
    if (!first) co_await c.tried.wait();
    if (c.opened) co_return true;
    // Where the first one could not, all others try.
    const bool well = co_await exchange(owner().to().requests().front(), false);
    if (well && !std::exchange(c.opened, true)) ++owner().figures().connections;
    c.tried.set();
    co_return well;
}

task<> h2_lane::session() {
    const bool opened = co_await open();
    if (!opened) co_return;
    co_await enter();
    for (;;) {
        const auto due = take();
        if (!due) co_return;
        if (is_early(*due)) co_await sleep_until(*due);
        const prepared_request& request = choose();
        begin(*due);
        const bool well = co_await exchange(request, true);
        if (!well) co_return;
    }
}

}  // namespace coracle::tool::bench
