#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/script.hpp>

#include <cassert>
#include <utility>

namespace coracle::testing {

using detail::step;
using detail::step_kind;

task<> gate::passed() const {
    const cancel_source opened = opened_;
    co_await as_result(with_cancel(opened, forever()));
    // The task itself was cancelled: it ends here.
    if (!opened.cancelled()) co_await forever();
}

script& script::add(step s) {
    steps_.push_back(std::move(s));
    return *this;
}

script& script::read_until(std::string text) {
    assert(!text.empty());
    return add({.kind = step_kind::read_until, .bytes = std::move(text)});
}

script& script::read_exactly(std::uint64_t bytes) {
    return add({.kind = step_kind::read_exactly, .count = bytes});
}

script& script::read_to_end() {
    return add({.kind = step_kind::read_to_end});
}

script& script::expect(std::string bytes) {
    return add({.kind = step_kind::expect, .bytes = std::move(bytes)});
}

script& script::send(std::string bytes) {
    return add({.kind = step_kind::send, .bytes = std::move(bytes)});
}

script& script::send_slowly(std::string bytes, std::size_t piece, duration pause) {
    assert(piece != 0);
    return add(
        {.kind = step_kind::send_slowly, .bytes = std::move(bytes), .count = piece, .time = pause});
}

script& script::send_endlessly(std::string bytes, std::uint64_t at_most) {
    assert(!bytes.empty());
    return add({.kind = step_kind::send_endlessly, .bytes = std::move(bytes), .count = at_most});
}

script& script::respond(std::string_view body, std::string_view fields) {
    return respond_claiming(body.size(), body, fields);
}

script& script::respond_claiming(std::uint64_t length, std::string_view body,
                                 std::string_view fields) {
    std::string all = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(length) + "\r\n";
    all.append(fields).append("\r\n").append(body);
    return send(std::move(all));
}

script& script::pause(duration d) {
    return add({.kind = step_kind::pause, .time = d});
}

script& script::stall() {
    return stall(gate());
}

script& script::stall(const gate& until) {
    return add({.kind = step_kind::stall, .until = until});
}

script& script::start_tls() {
    return add({.kind = step_kind::start_tls});
}

script& script::shutdown_output() {
    return add({.kind = step_kind::shutdown_output});
}

script& script::close() {
    return add({.kind = step_kind::close});
}

script& script::cut() {
    return add({.kind = step_kind::cut});
}

script& script::reset() {
    return add({.kind = step_kind::reset});
}

script& script::again(std::uint64_t times) {
    return add({.kind = step_kind::again, .count = times});
}

script& script::accept_after(duration d) {
    accept_delay_ = d;
    return *this;
}

script& script::accept_when(const gate& open) {
    accept_gate_ = open;
    return *this;
}

}  // namespace coracle::testing
