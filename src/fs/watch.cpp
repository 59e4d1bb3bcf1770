#include "fs/watch_tree.hpp"

#include <coracle/fs/watch.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <memory>
#include <utility>

namespace coracle::fs {
namespace {

using detail::watch_tree;
using done_or_error = std::expected<void, error>;

/// Waits until the system has events, or a change is due.
task<> wait_for_events(const watch_tree& tree) {
    const time_point due = tree.next_due();
    if (due == time_point::max()) {
        co_await readable(tree.descriptor());
        co_return;
    }
    auto came = co_await as_result(with_deadline(due, readable(tree.descriptor())));
    if (came || came.error() == std::errc::timed_out) co_return;
    // A cancelled task ends here; other failures occur again here and are thrown.
    co_await readable(tree.descriptor());
}

/// Reads pending events, so that changes that were undone already are not reported; a limited
/// number, as there may be many. Returns true if there may be more.
task<bool> read_all_events(watch_tree& tree) {
    constexpr unsigned most = 256;  // reads of up to 16 KiB
    constexpr unsigned share = 4;   // of them in a turn of the loop
    for (unsigned reads = 1; reads != most; ++reads) {
        const auto some = tree.read_events(loop::current()->now());
        if (!some) throw_exception(some.error());
        if (!*some) co_return false;
        if (reads % share == 0) co_await yield();
    }
    co_return true;
}

async_generator<change> changes_of(std::unique_ptr<watch_tree> tree) {
    for (;;) {
        const bool more = co_await read_all_events(*tree);
        tree->depart_overdue(loop::current()->now());
        if (tree->must_look_around()) {
            auto look = [&tree] { return tree->look_around(); };
            auto done = co_await offload(look);
            if (!done) throw_exception(done.error());
            tree->tell_found(loop::current()->now());
            // Changes that are over need not be reported; but those that are due are, even if
            // directories never cease to appear.
            if (tree->next_due() > loop::current()->now()) continue;
        }
        while (auto c = tree->take(loop::current()->now())) co_yield *std::move(c);
        if (tree->ended()) co_return;
        if (!more) co_await wait_for_events(*tree);
    }
}

task<std::expected<async_generator<change>, error>> begin_watching(std::string path,
                                                                   watch_options options) {
    if (!loop::current()->backend().is_of_the_system()) {
        error none(std::errc::function_not_supported, "watch");
        co_return std::unexpected(std::move(none.on(path)));
    }
    auto tree = std::make_unique<watch_tree>(std::move(path), std::move(options));
    auto begin = [&tree] { return tree->begin(); };
    auto begun = co_await as_result(offload(begin));
    if (!begun) co_return std::unexpected(std::move(begun).error());
    if (!*begun) co_return std::unexpected(std::move(*begun).error());
    co_return changes_of(std::move(tree));
}

}  // namespace

operation<async_generator<change>> watch(std::string path, watch_options options) {
    return begin_watching(std::move(path), std::move(options));
}

}  // namespace coracle::fs
