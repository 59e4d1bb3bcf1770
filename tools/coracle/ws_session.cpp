#include "ws_session.hpp"

#include "explanation.hpp"
#include "progress_display.hpp"
#include "shown_url.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/websocket/fault.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace coracle::tool {
namespace {

using websocket::close_code;
using websocket::fault;

constexpr std::uint64_t most_message_bytes = 64 * 1024 * 1024;
constexpr std::size_t most_line_bytes = 16 * 1024 * 1024;
/// Frames of a message; its size is bounded above.
constexpr std::uint32_t most_frames = 1024 * 1024;
/// How long a server has for its close frame.
constexpr duration close_patience = std::chrono::seconds(2);

websocket::options options_of(const ws_settings& s) {
    websocket::options o;
    o.limits.message = most_message_bytes;
    o.limits.fragments = most_frames;
    o.timeouts.close = close_patience;
    if (s.compress) o.compression.mode = websocket::compression_mode::with_context;
    return o;
}

/// Why a handshake failed, and the exit code.
std::pair<int, std::string> explain_handshake(const error& e) {
    const std::string subject(e.subject());
    if (e == fault::refused) return {ws_refused, "the server refused: " + subject};
    if (e == fault::bad_handshake) {
        return {ws_malformed, "the response is no handshake of WebSocket: " + subject};
    }
    return {exit_code_of(e), explain(e)};
}

std::string explain_loss(const error& e) {
    if (e == fault::message_too_big) {
        return "a message is larger than " + size_text(static_cast<double>(most_message_bytes));
    }
    if (e.code().category() == websocket::fault_category()) {
        return "the server broke the protocol: " + e.code().message();
    }
    if (e == errc::end_of_stream) return "the connection ended without a close frame";
    if (e == std::errc::timed_out) return "the server was silent for too long";
    return "the connection was lost: " + e.code().message();
}

bool is_normal(close_code c) noexcept {
    return c == close_code::normal || c == close_code::going_away || c == close_code::no_status;
}

std::string describe(const websocket::close_status& s) {
    std::string text = std::to_string(static_cast<unsigned>(s.code));
    if (!s.reason.empty()) text += ": " + s.reason;
    return text;
}

/// Ends a screen on every way out.
struct screen_end {
    ws_screen& screen;
    ~screen_end() { screen.end(); }
};

}  // namespace

/// Ends all tasks; the first reason counts.
void ws_session::stop(int code, std::string why) {
    if (!code_) {
        code_ = code;
        why_ = std::move(why);
    }
    if (group_ != nullptr) group_->cancel();
}

duration ws_session::linger() const noexcept {
    constexpr duration usual = std::chrono::seconds(1);
    return settings_.linger.value_or(screen_.interactive() ? duration::zero() : usual);
}

task<bool> ws_session::connect() {
    auto dialing = websocket::connect(client_, settings_.url);
    dialing.options(options_of(settings_));
    for (const auto& [name, value] : settings_.fields) dialing.header(name, value);
    for (const std::string& name : settings_.subprotocols) dialing.subprotocol(name);
    auto made = co_await as_result(dialing);
    if (made) {
        ws_.emplace(*std::move(made));
        received_at_ = loop::current()->now();
        co_return true;
    }
    auto [code, why] = explain_handshake(made.error());
    if (settings_.client.verbose) why = made.error().message();
    stop(code, std::move(why));
    co_return false;
}

// ---- receiving

/// Returns false if it was the last one, or cannot be shown.
task<bool> ws_session::note_message(const websocket::message& m) {
    received_at_ = loop::current()->now();
    auto shown = co_await screen_.show(m.is_text(), m.data());
    if (!shown) {
        stop(ws_write_error, "cannot write standard output: " + shown.error().code().message());
        co_return false;
    }
    ++received_;
    co_return received_ != settings_.close_after;
}

task<> ws_session::receive_all() {
    for (;;) {
        auto m = co_await as_result(ws_->receive());
        if (!m) {
            stop(ws_abnormal, closing_ ? "the server did not close" : explain_loss(m.error()));
            co_return;
        }
        if (!*m) break;
        const bool more = co_await note_message(**m);
        if (!more) break;
    }
    if (code_) co_return;
    // Closes this side, unless the server has closed already.
    auto closing = ws_->close();
    static_cast<void>(co_await as_result(closing));
    judge_end();
}

/// Decides how a connection ended whose close frames were exchanged, or should have been.
void ws_session::judge_end() {
    const websocket::close_status& s = ws_->status();
    const bool lacks = received_ < settings_.close_after;
    if (!s.clean) return stop(ws_abnormal, "the server did not close");
    if (s.by_peer && !is_normal(s.code)) {
        return stop(ws_other_code, "the server closed with " + describe(s));
    }
    if (s.by_peer && lacks) {
        return stop(ws_ended_early, "the server closed after " + std::to_string(received_) +
                                        " of " + std::to_string(settings_.close_after) +
                                        " messages");
    }
    stop(ws_ok);
}

// ---- sending

task<> ws_session::end_of_input() {
    if (settings_.close_after != 0) co_return;
    loop& l = *loop::current();
    const time_point ended = l.now();
    for (;;) {
        const time_point until = std::max(received_at_, ended) + linger();
        if (l.now() >= until) break;
        auto waiting = sleep_until(until);
        co_await waiting;
    }
    // `receive_all` sees it, and goes on.
    closing_ = true;
    auto closing = ws_->close();
    static_cast<void>(co_await as_result(closing));
}

task<> ws_session::send_lines() {
    auto input = io::standard_input();
    std::uint64_t number = 0;
    if (input) {
        io::reader_options o;
        o.longest_line = most_line_bytes;
        io::reader lines(**input, o);
        for (;;) {
            auto line = co_await as_result(lines.read_line());
            ++number;
            if (!line) {
                stop(ws_read_error, "cannot read standard input: " + line.error().message());
                co_return;
            }
            if (!*line) break;
            if (!is_utf8_text(**line)) {
                stop(ws_read_error,
                     "line " + std::to_string(number) + " of standard input is not UTF-8");
                co_return;
            }
            auto sent = co_await as_result(ws_->send(**line));
            if (!sent) co_return;
        }
    }
    co_await end_of_input();
}

/// False at the end of the input.
task<bool> ws_session::type(char byte) {
    switch (screen_.editor.feed(byte)) {
        case typed::nothing: co_return true;
        case typed::changed: co_await screen_.draw(); co_return true;
        case typed::ended: co_return false;
        case typed::interrupt: stop(ws_interrupted); co_return false;
        case typed::submitted: break;
    }
    const std::string line = screen_.editor.take();
    co_await screen_.leave_line(line);
    auto sent = co_await as_result(ws_->send(line));
    co_return sent.has_value();
}

task<> ws_session::send_typed() {
    auto input = io::standard_input();
    if (!input) co_return;
    for (;;) {
        auto bytes = co_await as_result((*input)->receive());
        if (!bytes) break;
        for (const char byte : bytes->view()) {
            const bool more = co_await type(byte);
            if (more) continue;
            co_await end_of_input();
            co_return;
        }
    }
    co_await end_of_input();
}

task<> ws_session::ping_now_and_then() {
    for (;;) {
        co_await sleep_for(settings_.ping);
        auto took = co_await as_result(with_timeout(settings_.ping, ws_->ping()));
        if (!took && took.error() == std::errc::timed_out) {
            stop(ws_abnormal, "no pong came in time (--ping)");
            co_return;
        }
        if (!took) co_return;
        char text[64];
        const double ms = std::chrono::duration<double, std::milli>(*took).count();
        std::snprintf(text, sizeof text, "pong after %.3f ms", ms);
        co_await screen_.note(text);
    }
}

// ---- all of it

task<> ws_session::note_interrupt(signal_set& signals) {
    co_await signals.next();
    stop(ws_interrupted);
}

task<> ws_session::note_time() {
    co_await sleep_for(settings_.max_time);
    stop(ws_out_of_time, "timeout (--max-time)");
}

task<> ws_session::talk(task_group& group) {
    const bool connected = co_await connect();
    if (!connected) co_return;
    if (settings_.reads_input) {
        co_await screen_.begin();
        if (screen_.interactive()) {
            co_await screen_.note("connected to " + without_secrets(settings_.url) +
                                  "; Ctrl-D closes");
            group.spawn([this] { return send_typed(); }, "input");
        } else {
            group.spawn([this] { return send_lines(); }, "input");
        }
    }
    if (settings_.ping > duration::zero()) {
        group.spawn([this] { return ping_now_and_then(); }, "pings");
    }
    co_await receive_all();
}

task<int> ws_session::run(signal_set& signals) {
    const screen_end at_last{screen_};
    const auto block = [&](task_group& group) -> task<> {
        group_ = &group;
        group.spawn([&] { return note_interrupt(signals); }, "signals");
        if (settings_.max_time > duration::zero()) {
            group.spawn([this] { return note_time(); }, "time limit");
        }
        co_await talk(group);
        group.cancel();
    };
    auto all = with_task_group(block);
    static_cast<void>(co_await as_result(all));
    group_ = nullptr;
    screen_.end();
    if (ws_ && ws_->is_open()) {
        auto closing = ws_->close(close_code::going_away);
        static_cast<void>(co_await as_result(closing));
    }
    if (!why_.empty()) {
        const std::string line = without_secrets(settings_.url) + ": " + why_;
        std::fprintf(stderr, "coracle: %s\n", printable(line).c_str());
    }
    co_return code_.value_or(ws_abnormal);
}

}  // namespace coracle::tool
