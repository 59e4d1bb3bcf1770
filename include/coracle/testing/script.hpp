#pragma once

#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing {

/// A point at which a `script` waits until a test opens it, once and for all. A handle: copies are
/// the same gate. Any thread.
class gate {
public:
    void open() const noexcept { opened_.cancel(); }
    bool is_open() const noexcept { return opened_.cancelled(); }
    /// Completes when it is open. Resumes from the loop.
    task<> passed() const;

private:
    cancel_source opened_;
};

namespace detail {

enum class step_kind : std::uint8_t {
    read_until,
    read_exactly,
    read_to_end,
    expect,
    send,
    send_slowly,
    send_endlessly,
    pause,
    stall,
    start_tls,
    shutdown_output,
    close,
    cut,
    reset,
    again,
};

struct step {
    step_kind kind;
    std::string bytes = {};
    std::uint64_t count = 0;
    duration time = {};
    std::optional<gate> until = {};
};

}  // namespace detail

/// The steps of a `scripted_peer` on one connection, word for word. After the last step it does
/// what `close` does. A step whose connection is gone ends the script. A value; each function adds
/// a step and returns the script itself.
class script {
public:
    static constexpr std::uint64_t unlimited = UINT64_MAX;
    static constexpr std::uint64_t default_endless = std::uint64_t{1} << 30;

    // ---- receiving

    /// Reads up to and with the empty line that ends a head.
    script& read_head() { return read_until("\r\n\r\n"); }
    script& read_until(std::string text);
    script& read_exactly(std::uint64_t bytes);
    /// Reads until the other side ends or resets the stream.
    script& read_to_end();
    /// Expects these bytes and no others: at the first that differs, or at the end of the stream,
    /// the connection is reset and `connection_record::failure` has the bytes that came.
    script& expect(std::string bytes);

    // ---- sending

    script& send(std::string bytes);
    /// Sends in pieces of `piece` bytes (the last may be shorter), with a pause between each two.
    script& send_slowly(std::string bytes, std::size_t piece, duration pause);
    /// Sends the bytes again and again until the other side is gone, or `at_most` bytes (default 1
    /// GiB) have been sent.
    script& send_endlessly(std::string bytes, std::uint64_t at_most = default_endless);
    /// Sends a whole HTTP/1.1 response of status 200 with this body and the right Content-Length.
    /// `fields` are further field lines, each with its CRLF.
    script& respond(std::string_view body, std::string_view fields = {});
    /// Sends such a response with a Content-Length of `length`, whatever the body's.
    script& respond_claiming(std::uint64_t length, std::string_view body,
                             std::string_view fields = {});

    // ---- waiting

    script& pause(duration d);
    /// Neither reads nor sends, until the peer object stops.
    script& stall();
    /// Stalls until the gate is open.
    script& stall(const gate& until);

    // ---- TLS

    /// Begins TLS here, in place of at the beginning; for peers whose options have it.
    script& start_tls();

    // ---- ends

    /// Sends the end of our side (with close_notify over TLS) and goes on receiving.
    script& shutdown_output();
    /// Ends in good order: sends the end, takes what still comes until the other side ends too, for
    /// 1 s at most, and closes.
    script& close();
    /// Closes on the spot, over TLS without close_notify. When bytes were not read yet, the system
    /// sends a reset, as with close(2).
    script& cut();
    script& reset();

    // ---- the whole

    /// Repeats all steps before it, `times` times (default: until the other side goes); those among
    /// them that are `again` are done anew too.
    script& again(std::uint64_t times = unlimited);

    /// Accepts the connection this long after its turn, or when the gate is open; later ones wait
    /// too. The other side is connected all the same: the system has accepted it.
    script& accept_after(duration d);
    script& accept_when(const gate& open);
    script& never_accept() { return accept_when(gate()); }

    const std::vector<detail::step>& steps() const noexcept { return steps_; }
    duration accept_delay() const noexcept { return accept_delay_; }
    const std::optional<gate>& accept_gate() const noexcept { return accept_gate_; }

private:
    script& add(detail::step s);

    std::vector<detail::step> steps_;
    duration accept_delay_{};
    std::optional<gate> accept_gate_;
};

}  // namespace coracle::testing
