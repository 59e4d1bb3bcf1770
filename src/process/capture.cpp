#include "process/child_state.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>

#include <utility>

namespace coracle::process::detail {
namespace {

/// A capture under way.
struct capturing {
    child_state& process;
    capture_limits limits;
    captured got;
    std::optional<error> failure;
    event failed;

    capturing(child_state& s, const capture_limits& l) : process(s), limits(l) {}
    void fail(error e) {
        if (!failure) failure = std::move(e);
        failed.set();
    }
};

error too_much(const char* limit, std::size_t most, const child_state& s) {
    error e(errc::limit_exceeded, "command::capture");
    std::string subject(limit);
    subject.append(" (").append(std::to_string(most)).append(" bytes) of ").append(s.name);
    return std::move(e.on(subject));
}

task<> collect(capturing& c, std::size_t number, std::string& into, std::size_t most,
               const char* limit) {
    if (c.process.streams[number] == nullptr) co_return;
    io::descriptor_stream& from = *c.process.streams[number];
    for (;;) {
        auto piece = co_await as_result(from.receive());
        if (!piece) {
            // Does not end by returning a value: that would win the race, and truncated output
            // would look complete.
            if (coracle::detail::is_cancellation(piece.error())) co_await forever();
            if (piece.error() != errc::end_of_stream) c.fail(std::move(piece).error());
            co_return;
        }
        if (piece->size() > most - into.size()) {
            c.fail(too_much(limit, most, c.process));
            co_return;
        }
        into.append(piece->view());
    }
}

task<> collect_all(capturing& c) {
    co_await when_all(collect(c, 1, c.got.output, c.limits.output, "capture_limits::output"),
                      collect(c, 2, c.got.error, c.limits.error, "capture_limits::error"));
    // Waits forever after a failure of one stream: `wait_for_failure` ends the race.
    if (c.failure) co_await forever();
}

/// Processes that it has started may keep its output open forever. Also lingers where there is no
/// status (SIGCHLD is ignored): `wait_or_end` reports that.
task<> wait_and_linger(capturing& c) {
    auto ended = co_await as_result(wait_for_end(c.process));
    if (!ended) co_await forever();
    co_await sleep_for(c.limits.linger);
    c.got.left_open = true;
}

task<> wait_for_failure(capturing& c) {
    co_await c.failed.wait();
}

void default_streams(plan& p) {
    using kind = redirect::kind;
    if (!p.terminal && p.streams[0].what() == kind::unset) p.streams[0] = redirect::null();
    for (const std::size_t i : {1u, 2u}) {
        if (p.streams[i].what() == kind::unset) p.streams[i] = redirect::pipe();
    }
}

}  // namespace

task<std::expected<captured, error>> capture(std::unique_ptr<plan> p, capture_limits limits) {
    if (p->streams[0].what() == redirect::kind::pipe) {
        error e(std::errc::invalid_argument, "command::capture");
        co_return std::unexpected(
            std::move(e.on(p->program + " (its input is a pipe without another end)")));
    }
    default_streams(*p);
    const duration grace = p->grace;
    auto started = co_await as_result(start(std::move(p)));
    if (!started) co_return std::unexpected(std::move(started).error());
    if (!*started) co_return std::unexpected(std::move(*started).error());
    child_state& s = child_state::of(**started);
    s.process.ends_group();
    capturing c(s, limits);
    auto all =
        co_await as_result(when_any(collect_all(c), wait_and_linger(c), wait_for_failure(c)));
    if (!all || c.failure) {
        co_await end_shielded(s, grace);
        co_return std::unexpected(c.failure ? *std::move(c.failure) : std::move(all).error());
    }
    auto ended = co_await wait_or_end(s, grace);
    if (!ended) co_return std::unexpected(std::move(ended).error());
    c.got.status = *ended;
    co_return std::move(c.got);
}

}  // namespace coracle::process::detail
