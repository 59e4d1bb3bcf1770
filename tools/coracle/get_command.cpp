#include "get_command.hpp"

#include "input_file.hpp"
#include "request_body.hpp"
#include "settings.hpp"
#include "transfer.hpp"
#include "verbose_log.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/cookie_jar.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/ticker.hpp>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tool {
namespace {

bool wants_bars(const get_settings& s, const std::vector<transfer_order>& orders) {
    const bool on_terminal = std::ranges::count(orders, "-", &transfer_order::output) != 0 &&
                             ::isatty(STDOUT_FILENO) != 0;
    return ::isatty(STDERR_FILENO) != 0 && !s.silent && !s.no_progress && !on_terminal &&
           !s.client.verbose;
}

task<> draw_now_and_then(progress_display& display) {
    ticker ticks = every(std::chrono::milliseconds(100));
    for (;;) {
        co_await ticks.next();
        display.draw(loop::current()->now());
    }
}

/// The orders, and the tasks that carry them out.
struct work {
    transfer_room& room;
    std::deque<transfer_order> left;
    const cancel_source* running = nullptr;  ///< what a signal ends; null: nothing
    int code = get_ok;
};

task<> carry_out(work& w) {
    while (!w.left.empty() && !w.room.interrupted) {
        transfer one(w.room, std::move(w.left.front()));
        w.left.pop_front();
        const int code = co_await one.run();
        if (w.code == get_ok) w.code = code;
    }
}

task<> interrupt_on_signals(signal_set& signals, work& w) {
    for (;;) {
        co_await signals.next();
        w.room.interrupted = true;
        if (w.running != nullptr) w.running->cancel();
    }
}

/// Awaits `f()`, a task, until a signal comes.
template <class F>
task<> run_until_signal(work& w, F f) {
    const cancel_source stop;
    w.running = &stop;
    auto running = with_cancel(stop, std::move(f));
    static_cast<void>(co_await as_result(running));
    w.running = nullptr;
}

/// Returns how many transfers there are descriptors for: each needs a connection, a file, and one
/// more while it is completed.
std::size_t most_at_once() {
    constexpr std::uint64_t others = 32;
    constexpr std::uint64_t each = 3;
    const std::uint64_t all = net::raise_descriptor_limit();
    return all < others + each ? 1 : static_cast<std::size_t>((all - others) / each);
}

task<> run_all(work& w) {
    spawn([&w] { return draw_now_and_then(w.room.display); }, "progress");
    const auto together = [&](task_group& group) -> task<> {
        const std::size_t most =
            std::min({std::size_t{w.room.settings.parallel}, w.left.size(), most_at_once()});
        for (std::size_t i = 0; i != most; ++i) {
            group.spawn([&w] { return carry_out(w); }, "transfer");
        }
        co_return;
    };
    co_await with_task_group(together);
}

std::int64_t seconds_now() {
    return loop::current()->unix_time();
}

/// Returns the texts of the cookie files, some of which may be pipes. A file that is written at the
/// end need not exist yet. Returns nothing if one cannot be read.
std::optional<std::vector<std::string>> cookies_of(const get_settings& s,
                                                   progress_display& display) {
    std::vector<std::string> texts;
    for (const std::string& path : s.cookie_files) {
        if (path == s.cookie_jar && ::access(path.c_str(), F_OK) != 0) continue;
        try {
            texts.push_back(content_of(path, http::cookie_limits().file));
        } catch (const unreadable& e) {
            complain(s, display, std::string("the cookies: ") + e.what());
            return std::nullopt;
        }
    }
    return texts;
}

task<bool> save_cookies(const transfer_room& room) {
    const std::string& path = room.settings.cookie_jar;
    if (path.empty()) co_return true;
    const http::cookie_jar& jar = room.client.cookies();
    // Standard output, a FIFO or a device.
    if (output_file out(path); out.is_stream()) {
        const std::string text = jar.text(seconds_now());
        try {
            co_await out.write(text);
            co_await out.open_fifo_if_never_written();
            co_return true;
        } catch (const unwritable& e) {
            room.complain(e.what());
        } catch (const std::system_error& e) {
            if (!room.interrupted) room.complain(e.what());
        }
        co_return false;
    }
    const auto saved = jar.save(path, seconds_now());
    if (saved) co_return true;
    room.complain("cannot write the cookies to '" + path + "': " + saved.error().code().message());
    co_return false;
}

/// Reads cookie files; says so where they hold more than a jar keeps.
void read_cookies(const std::vector<std::string>& texts, const transfer_room& room) {
    http::cookie_jar& jar = room.client.cookies();
    for (const std::string& text : texts) jar.read(text, seconds_now());
    if (jar.evicted() == 0) return;
    constexpr http::cookie_limits most;
    room.complain("the cookies: " + std::to_string(jar.evicted()) + " are left out: at most " +
                  std::to_string(most.per_domain) + " of one domain, and " +
                  std::to_string(most.cookies) + " in all, are kept");
}

/// Runs all orders, with these cookies, and writes those of the end.
task<> do_work(work& w, const std::vector<std::string>& cookies, signal_set& signals) {
    read_cookies(cookies, w.room);
    spawn([&] { return interrupt_on_signals(signals, w); }, "signals");
    co_await run_until_signal(w, [&w] { return run_all(w); });
    bool saved = false;
    const auto save = [&]() -> task<> { saved = co_await save_cookies(w.room); };
    co_await run_until_signal(w, save);
    if (!saved && w.code == get_ok) w.code = get_write_error;
    if (w.room.interrupted) w.code = get_interrupted;
}

/// Returns nothing if a file of it cannot be read.
std::optional<request_body> body_of(const get_settings& settings, progress_display& display) {
    try {
        return request_body(settings);
    } catch (const unreadable& e) {
        complain(settings, display, e.what());
        return std::nullopt;
    }
}

}  // namespace

int get(const get_settings& settings) {
    std::vector<transfer_order> orders = orders_of(settings);
    progress_display display(wants_bars(settings, orders), orders.size());
    logger log(log_level::warning);
    obey_environment(log);
    log.set_sink(&log_or_print, &display);
    if (settings.silent && std::getenv("CORACLE_LOG") == nullptr) log.set_level(log_level::error);
    if (settings.client.verbose) log.set_level(log_layer::http, log_level::info);

    // A closed standard output must not kill the program (SIGPIPE).
    std::signal(SIGPIPE, SIG_IGN);
    // Before the signals are blocked, because they may wait for the user.
    const auto request = body_of(settings, display);
    if (!request) return get_read_error;
    const auto cookies = cookies_of(settings, display);
    if (!cookies) return get_read_error;
    for (transfer_order& o : orders) o.url = request->with_query(o.url);
    // Before threads are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    http::client client(settings.client, settings.pool);
    transfer_room room{settings, *request, client, display};
    work w{room, {std::make_move_iterator(orders.begin()), std::make_move_iterator(orders.end())}};
    runtime_options on;
    on.log = &log;
    block_on([&] { return do_work(w, *cookies, signals); }, on);
    return w.code;
}

}  // namespace coracle::tool
