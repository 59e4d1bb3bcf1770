#include "h1_lane.hpp"

#include "worker.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/stream.hpp>

#include <utility>

namespace coracle::tool::bench {

using state = response_reader::state;

task<bool> h1_lane::open() {
    const target& to = owner().to();
    auto connecting = connect::to(owner().names(), to.host(), to.port(), to.connecting());
    auto made = co_await as_result(connecting);
    if (!made) {
        note_no_connection(made.error());
        co_return false;
    }
    stream_ = *std::move(made);
    if (to.tls() == nullptr) co_return true;
    auto securing = tls::connect(*to.tls(), std::move(stream_), to.host());
    auto secured = co_await as_result(securing);
    if (!secured) {
        note_no_connection(secured.error());
        co_return false;
    }
    stream_ = *std::move(secured);
    co_return true;
}

void h1_lane::leave() noexcept {
    if (stream_ == nullptr) return;
    stream_->close(is_busy());
    stream_.reset();
}

/// True where the end of the connection is that of the response.
bool h1_lane::end_with(const error& e) noexcept {
    if (e == errc::end_of_stream && reader_.end() == state::done) {
        finish(reader_.status());
        return true;
    }
    fail(e);
    return false;
}

/// True where the server has closed an idle connection, or sent what nobody has asked for.
task<bool> h1_lane::is_left() {
    if (!stream_->has_input()) co_return false;
    if (owner().to().tls() == nullptr) co_return true;
    // Tickets for later sessions may have come (RFC 8446 section 4.6.1): reading takes them.
    auto reading = with_timeout(duration::zero(), stream_->receive());
    auto received = co_await as_result(reading);
    co_return received || received.error() != std::errc::timed_out;
}

task<> h1_lane::session() {
    const bool connected = co_await open();
    if (!connected) co_return;
    counts& figures = owner().figures();
    ++figures.connections;
    co_await enter();
    // The wait for the others may have been longer than the server's patience.
    const bool has_left = co_await is_left();
    if (has_left) co_return;
    for (;;) {
        const auto due = take();
        if (!due) co_return;
        if (is_early(*due)) {
            co_await sleep_until(*due);
            const bool left = co_await is_left();
            if (left) {
                take_again(*due);
                co_return;
            }
        }
        const prepared_request& request = choose();
        begin(*due);
        reader_.begin(request.method);
        auto sent = co_await as_result(stream_->send(request.bytes));
        if (sent) figures.bytes_out += request.bytes.size();
        state s = state::more;
        // A server may respond, and close, before it has read all of it.
        while (s == state::more) {
            auto received = co_await as_result(stream_->receive());
            if (!received) {
                if (sent || received.error() == errc::end_of_stream)
                    end_with(received.error());
                else
                    fail(sent.error());
                co_return;
            }
            figures.bytes_in += received->size();
            s = reader_.feed(received->view());
        }
        if (s == state::broken) {
            fail(failure_kind::malformed, "the response cannot be read");
            co_return;
        }
        finish(reader_.status());
        if (!sent || !reader_.keeps_alive() || owner().to().plan().new_connections) co_return;
    }
}

}  // namespace coracle::tool::bench
