#include "http/proxy/join_streams.hpp"

#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

namespace coracle::http::detail {
namespace {

/// The state of both directions.
struct joined {
    duration idle;
    time_point last;  ///< when bytes came, from either side
    unsigned ended = 0;
};

time_point now() noexcept {
    return loop::current()->now();
}

/// The next bytes of `from`; an error at its end, or when neither side has sent for too long.
task<std::expected<buffer, error>> next_bytes(net::byte_stream* from, joined* both) {
    const auto receive = [from]() -> task<buffer> { co_return co_await from->receive(); };
    for (;;) {
        const time_point until = coracle::detail::later(both->last, both->idle);
        auto bytes = co_await as_result(with_deadline(until, receive));
        // The limit of both: the other direction may have been busy meanwhile.
        const bool is_ours = !bytes && bytes.error() == std::errc::timed_out && now() >= until;
        if (is_ours && coracle::detail::later(both->last, both->idle) > now()) continue;
        if (bytes) both->last = now();
        co_return bytes;
    }
}

task<> copy(net::byte_stream* from, net::byte_stream* to, buffer first, joined* both,
            task_group* directions) {
    bool in_order = true;
    if (!first.empty()) {
        const auto sent = co_await as_result(to->send(first.view()));
        in_order = sent.has_value();
        first.release();
    }
    while (in_order) {
        const auto bytes = co_await next_bytes(from, both);
        if (!bytes) {
            in_order = bytes.error() == errc::end_of_stream;
            break;
        }
        const auto sent = co_await as_result(to->send(bytes->view()));
        in_order = sent.has_value();
    }
    if (in_order) {
        to->shutdown_output();
        ++both->ended;
    } else {
        directions->cancel();
    }
}

}  // namespace

task<> join_streams(net::byte_stream& ours, buffer received, detached_connection theirs,
                    duration idle) {
    joined both{idle, now()};
    net::byte_stream* const here = &ours;
    net::byte_stream* const there = theirs.stream.get();
    buffer to_them = std::move(received);
    buffer to_us = std::move(theirs.received);
    const auto directions = [&](task_group& group) -> task<> {
        group.spawn([&] { return copy(here, there, std::move(to_them), &both, &group); },
                    "upgraded");
        group.spawn([&] { return copy(there, here, std::move(to_us), &both, &group); }, "upgraded");
        co_return;
    };
    const auto ended = co_await as_result(with_task_group(directions));
    constexpr unsigned both_sides = 2;
    there->close(!ended || both.ended != both_sides);
}

}  // namespace coracle::http::detail
