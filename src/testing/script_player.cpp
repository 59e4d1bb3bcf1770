#include "testing/script_player.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/stream.hpp>

#include <algorithm>
#include <utility>

namespace coracle::testing::detail {
namespace {

/// The longest time that a connection is kept for the other side to end it too.
constexpr duration linger = std::chrono::seconds(1);
/// The most bytes of the expected and of the received text that a failure shows.
constexpr std::size_t shown = 200;
/// The least that `send_endlessly` hands over at a time.
constexpr std::size_t block = 16 * 1024;

/// Notes that the other side hangs up while nothing is read.
class hangup_note : coracle::hangup_watch {
public:
    hangup_note(net::byte_stream& s, journal& j, std::size_t index)
        : hangup_watch{&hung_up}, stream_(&s), journal_(&j), index_(index) {
        if (!s.watch_hangup(this)) hung_up(*this);
    }
    ~hangup_note() { stream_->watch_hangup(nullptr); }
    hangup_note(const hangup_note&) = delete;
    hangup_note& operator=(const hangup_note&) = delete;

private:
    static void hung_up(coracle::hangup_watch& w) noexcept {
        const auto& self = static_cast<hangup_note&>(w);
        self.journal_->change(self.index_, [](connection_record& r) { r.hung_up = true; });
    }
    net::byte_stream* stream_;
    journal* journal_;
    std::size_t index_;
};

}  // namespace

script_player::~script_player() {
    // During a handshake there is no stream.
    if (stream_ != nullptr) stream_->close();
    note([](connection_record& r) {
        r.stalled = false;
        r.closed = true;
    });
}

void script_player::fail(std::string why) {
    note([&](connection_record& r) { r.failure = std::move(why); });
}

bool script_player::begins_with_tls() const {
    if (options_->tls == nullptr) return false;
    return std::ranges::none_of(script_->steps(),
                                [](const step& s) { return s.kind == step_kind::start_tls; });
}

task<> script_player::play() {
    if (begins_with_tls()) {
        const bool good = co_await start_tls();
        if (!good) co_return;
    }
    const std::vector<step>& steps = script_->steps();
    std::vector<std::uint64_t> rounds(steps.size());
    for (std::size_t i = 0; i != steps.size() && !closed_;) {
        const step& s = steps[i];
        if (s.kind == step_kind::again) {
            const bool once_more = rounds[i] != s.count;
            // A passed `again` starts over: a later one may come back to it.
            rounds[i] = once_more ? rounds[i] + 1 : 0;
            i = once_more ? 0 : i + 1;
            co_await yield();
            continue;
        }
        const bool good = co_await take(s);
        if (!good) co_return;
        note([](connection_record& r) { ++r.steps; });
        ++i;
    }
    if (!closed_) co_await close();
}

task<bool> script_player::take(const step& s) {
    bool good = true;
    switch (s.kind) {
        case step_kind::send: good = co_await send(s.bytes); break;
        case step_kind::send_slowly: good = co_await send_slowly(s); break;
        case step_kind::send_endlessly: good = co_await send_endlessly(s); break;
        case step_kind::pause:
        case step_kind::stall: good = co_await stand_still(s); break;
        case step_kind::start_tls: good = co_await start_tls(); break;
        case step_kind::shutdown_output: stream_->shutdown_output(); break;
        case step_kind::close: co_await close(); break;
        case step_kind::cut:
            wire_->close();
            closed_ = true;
            break;
        case step_kind::reset:
            stream_->close(true);
            closed_ = true;
            break;
        default: good = co_await take_reading(s); break;
    }
    co_return good;
}

task<bool> script_player::take_reading(const step& s) {
    bool good = true;
    switch (s.kind) {
        case step_kind::read_until: good = co_await read_until(s.bytes); break;
        case step_kind::read_exactly: good = co_await read_exactly(s.count); break;
        case step_kind::expect: good = co_await expect(s.bytes); break;
        default: good = co_await read_to_end(); break;
    }
    co_return good;
}

// ---- TLS ---------------------------------------------------------------------------------------

task<bool> script_player::start_tls() {
    if (options_->tls == nullptr || std::exchange(secured_, true)) {
        fail(options_->tls == nullptr ? "start_tls without a certificate" : "start_tls twice");
        co_return false;
    }
    buffer received;
    if (!pending_.empty()) {
        received = buffer(pending_.size());
        received.append(std::exchange(pending_, {}));
    }
    auto accepted = tls::accept(*options_->tls, std::move(stream_), std::move(received));
    auto secured = co_await as_result(accepted);
    if (!secured) {
        if (coracle::detail::is_cancellation(secured.error())) co_await forever();
        fail(secured.error().message());
        co_return false;
    }
    wire_ = &(*secured)->beneath();
    stream_ = std::move(*secured);
    co_return true;
}

// ---- receiving ---------------------------------------------------------------------------------

task<bool> script_player::receive_more() {
    net::receive more = stream_->receive();
    auto received = co_await as_result(more);
    if (received) {
        const std::string_view bytes = received->view();
        pending_ += bytes;
        note([&](connection_record& r) {
            r.bytes_received += bytes.size();
            r.received += bytes.substr(0, options_->kept - r.received.size());
        });
        co_return true;
    }
    const error& why = received.error();
    if (coracle::detail::is_cancellation(why)) co_await forever();  // the task ends here
    const bool in_order = why == errc::end_of_stream;
    note([&](connection_record& r) {
        r.peer_ended = in_order ? ending::finished : ending::reset;
        if (!in_order && !(why == std::errc::connection_reset)) r.failure = why.message();
    });
    co_return false;
}

task<bool> script_player::read_until(const std::string& text) {
    std::size_t looked_through = 0;
    for (;;) {
        const std::size_t at = pending_.find(text, looked_through);
        if (at != std::string::npos) {
            pending_.erase(0, at + text.size());
            co_return true;
        }
        if (pending_.size() > options_->kept) {
            fail("read_until: not in the first " + std::to_string(options_->kept) + " bytes");
            stream_->close(true);
            co_return false;
        }
        // The text may have begun.
        looked_through = pending_.size() - std::min(pending_.size(), text.size() - 1);
        const bool more = co_await receive_more();
        if (more) continue;
        if (!pending_.empty()) mismatch(text);
        co_return false;
    }
}

task<bool> script_player::read_exactly(std::uint64_t bytes) {
    for (;;) {
        const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, pending_.size()));
        pending_.erase(0, used);
        bytes -= used;
        if (bytes == 0) co_return true;
        const bool more = co_await receive_more();
        if (more) continue;
        fail("read_exactly: the stream ended " + std::to_string(bytes) + " bytes early");
        co_return false;
    }
}

task<bool> script_player::read_to_end() {
    for (bool more = true; more;) {
        pending_.clear();
        more = co_await receive_more();
    }
    co_return true;
}

task<bool> script_player::expect(const std::string& bytes) {
    while (bytes.starts_with(pending_) && pending_.size() < bytes.size()) {
        const bool more = co_await receive_more();
        if (!more) break;
    }
    if (pending_.starts_with(bytes)) {
        pending_.erase(0, bytes.size());
        co_return true;
    }
    mismatch(bytes);
    stream_->close(true);
    co_return false;
}

void script_player::mismatch(const std::string& wanted) {
    fail("expected \"" + wanted.substr(0, shown) + "\", got \"" + pending_.substr(0, shown) + '"');
}

// ---- sending -----------------------------------------------------------------------------------

task<bool> script_player::send(std::string_view bytes) {
    net::send sending = stream_->send(bytes);
    const auto sent = co_await as_result(sending);
    const auto progress = static_cast<std::uint64_t>(sending.progress());
    if (!sent && coracle::detail::is_cancellation(sent.error())) co_await forever();
    note([&](connection_record& r) {
        r.bytes_sent += progress;
        if (sent) return;
        r.peer_ended = ending::reset;
        const bool gone =
            sent.error() == std::errc::connection_reset || sent.error() == std::errc::broken_pipe;
        if (!gone) r.failure = sent.error().message();
    });
    co_return sent.has_value();
}

task<bool> script_player::send_slowly(const step& s) {
    for (std::string_view left = s.bytes; !left.empty();) {
        const std::string_view piece = left.substr(0, static_cast<std::size_t>(s.count));
        left.remove_prefix(piece.size());
        const bool sent = co_await send(piece);
        if (!sent) co_return false;
        if (!left.empty()) co_await sleep_for(s.time);
    }
    co_return true;
}

task<bool> script_player::send_endlessly(const step& s) {
    std::string many;
    while (many.size() < block) many += s.bytes;
    for (std::uint64_t left = s.count; left != 0;) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, many.size()));
        const bool sent = co_await send(std::string_view(many).substr(0, size));
        if (!sent) co_return false;
        left -= size;
    }
    co_return true;
}

// ---- waiting and ending ------------------------------------------------------------------------

task<bool> script_player::stand_still(const step& s) {
    const bool stalls = s.kind == step_kind::stall;
    if (stalls) note([](connection_record& r) { r.stalled = true; });
    const hangup_note hangup(*stream_, *journal_, index_);
    if (stalls)
        co_await s.until->passed();
    else
        co_await sleep_for(s.time);
    if (stalls) note([](connection_record& r) { r.stalled = false; });
    co_return true;
}

task<> script_player::close() {
    stream_->shutdown_output();
    // Unread bytes would make the system send a reset, which overtakes what was sent.
    const auto rest = [this]() -> task<> { static_cast<void>(co_await read_to_end()); };
    static_cast<void>(co_await as_result(with_timeout(linger, rest)));
    stream_->close();
    closed_ = true;
}

}  // namespace coracle::testing::detail
