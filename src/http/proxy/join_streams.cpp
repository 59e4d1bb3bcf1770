#include "http/proxy/join_streams.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>

namespace coracle::http::detail {
namespace {

/// The state of both directions.
struct joined {
    duration idle;
    time_point last;  ///< when either side took a piece of the other
    unsigned ended = 0;

    time_point due() const noexcept { return coracle::detail::later(last, idle); }
};

time_point now() noexcept {
    return loop::current()->now();
}

/// Sends a piece, and returns true if that was possible.
task<bool> pass(net::byte_stream* to, buffer* piece, joined* both) {
    const auto sent = co_await as_result(to->send(piece->view()));
    both->last = now();
    co_return sent.has_value();
}

/// Copies until the end of `from`. Returns false if something failed before.
task<bool> copy_all(net::byte_stream* from, net::byte_stream* to, buffer first, joined* both) {
    buffer piece = std::move(first);
    for (;;) {
        if (!piece.empty()) {
            const bool sent = co_await pass(to, &piece, both);
            if (!sent) co_return false;
        }
        piece.release();
        auto bytes = co_await as_result(from->receive());
        if (!bytes) co_return bytes.error() == errc::end_of_stream;
        piece = *std::move(bytes);
    }
}

task<> copy(net::byte_stream* from, net::byte_stream* to, buffer first, joined* both,
            task_group* directions) {
    const bool in_order = co_await copy_all(from, to, std::move(first), both);
    if (in_order) {
        to->shutdown_output();
        ++both->ended;
    } else {
        directions->cancel();
    }
}

/// Completes when nothing has passed for too long.
task<> wait_until_idle(joined* both) {
    while (both->due() > now()) co_await sleep_until(both->due());
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
    auto all = when_any(with_task_group(directions), wait_until_idle(&both));
    const auto ended = co_await as_result(all);
    constexpr unsigned both_sides = 2;
    there->close(!ended || both.ended != both_sides);
}

}  // namespace coracle::http::detail
