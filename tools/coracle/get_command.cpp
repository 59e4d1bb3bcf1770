#include "get_command.hpp"

#include "request_body.hpp"
#include "settings.hpp"
#include "transfer.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/client.hpp>
#include <coracle/http/cookie_jar.hpp>
#include <coracle/http/field_id.hpp>
#include <coracle/mime/disposition.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/ticker.hpp>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <optional>

namespace coracle::tool {
namespace {

std::string with_scheme(const std::string& text) {
    const std::size_t scheme = text.find("://");
    const bool has_one = scheme != std::string::npos && scheme < text.find_first_of("/?#");
    return has_one ? text : "http://" + text;
}

/// As it may be printed: without user and password.
std::string without_secrets(const std::string& text) {
    if (const auto u = url::parse(text)) return u->redacted();
    const std::size_t from = text.find("://") + 3;
    const std::size_t at = text.rfind('@');
    return at == std::string::npos ? text : text.substr(0, from) + text.substr(at + 1);
}

/// Whether both would be written into one file, be it only for a while.
bool meet(const std::string& a, const std::string& b) {
    return a == b || a + ".part" == b || a == b + ".part";
}

/// A name of a file beneath this directory, which none of `orders` has.
std::string name_from(const std::string& text, const std::vector<transfer_order>& orders) {
    std::string name;
    if (const auto u = url::parse(text)) {
        const std::string_view path = u->path();
        const auto segment = percent_decode(path.substr(path.rfind('/') + 1));
        name = mime::safe_filename(segment.value_or(""));
    }
    // With a number and ".part" it is still a name: 255 bytes. Its end tells what it is.
    constexpr std::size_t longest = 240;
    if (name.size() > longest) name = mime::safe_filename(name.substr(name.size() - longest));
    if (name.empty()) name = "index.html";
    const auto taken = [&orders](const std::string& n) {
        return std::ranges::any_of(orders, [&n](const auto& o) { return meet(o.output, n); });
    };
    std::string unique = name;
    for (unsigned n = 1; taken(unique); ++n) unique = name + '.' + std::to_string(n);
    return unique;
}

std::string checksum_of(const std::string& text) {
    std::string small = text;
    for (char& c : small) {
        if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    }
    if (small.size() != 64 || small.find_first_not_of("0123456789abcdef") != std::string::npos) {
        throw failure("cannot read --sha256 '" + text + "': it has 64 hexadecimal digits");
    }
    return small;
}

std::string output_of(const get_settings& s, std::size_t i, const std::string& url,
                      const std::vector<transfer_order>& orders) {
    if (i < s.outputs.size()) return s.outputs[i];
    // One "-" is for all.
    if (s.outputs.size() == 1 && s.outputs[0] == "-") return "-";
    const bool to_file = s.name_from_url || s.urls.size() > 1 || s.resume;
    return to_file && !s.head ? name_from(url, orders) : "-";
}

/// Throws `failure` when they would get in each other's way.
void check_outputs(const get_settings& s, const std::vector<transfer_order>& orders) {
    for (auto a = orders.begin(); a != orders.end(); ++a) {
        const bool is_file = a->output != "-" && !a->output.starts_with("/dev/");
        const auto other = std::find_if(std::next(a), orders.end(),
                                        [&a](const auto& b) { return meet(a->output, b.output); });
        if (is_file && other != orders.end()) {
            throw failure("two answers would be written to '" + other->output +
                          "': give each an --output of its own");
        }
    }
    const auto on_output = std::ranges::count(orders, "-", &transfer_order::output);
    if (on_output > 1 && s.parallel > 1 && !s.head) {
        throw failure(
            "answers that come at the same time would mix on standard output: "
            "leave --parallel away, or give them files with -O");
    }
    if (on_output != 0 && s.resume) {
        throw failure("--continue needs a file: give one with -o FILE or -O");
    }
    if (s.resume && s.include_head) {
        throw failure("--continue and --include do not go together");
    }
    const bool of_a_range = std::ranges::any_of(s.fields, [](const auto& f) {
        return http::find_field_id(f.first) == http::field_id::range;
    });
    if (s.resume && of_a_range) throw failure("--continue and --range do not go together");
}

std::vector<transfer_order> orders_of(const get_settings& s) {
    if (s.outputs.size() > s.urls.size()) throw failure("there are more --output than URLs");
    if (s.checksums.size() > s.urls.size()) throw failure("there are more --sha256 than URLs");
    std::vector<transfer_order> orders;
    for (std::size_t i = 0; i != s.urls.size(); ++i) {
        transfer_order o;
        o.url = with_scheme(s.urls[i]);
        o.shown = without_secrets(o.url);
        o.output = output_of(s, i, o.url, orders);
        if (i < s.checksums.size()) o.checksum = checksum_of(s.checksums[i]);
        o.any_bytes = o.output != "-" || !s.outputs.empty() || ::isatty(STDOUT_FILENO) == 0;
        orders.push_back(std::move(o));
    }
    check_outputs(s, orders);
    return orders;
}

bool wants_bars(const get_settings& s, const std::vector<transfer_order>& orders) {
    const bool on_terminal = std::ranges::count(orders, "-", &transfer_order::output) != 0 &&
                             ::isatty(STDOUT_FILENO) != 0;
    return ::isatty(STDERR_FILENO) != 0 && !s.silent && !s.no_progress && !on_terminal &&
           !s.client.verbose;
}

/// Lines of --verbose as they are, others as logs are.
void log_or_print(void* user, log_level level, log_layer layer, std::string_view text) {
    const bool of_messages = layer == log_layer::http && level == log_level::info;
    const bool traced = text.starts_with("> ") || text.starts_with("< ") || text.starts_with("* ");
    if (of_messages && traced) {
        static_cast<progress_display*>(user)->say(printable(text) + '\n');
    } else {
        log_to_stderr(nullptr, level, layer, text);
    }
}

task<> draw_now_and_then(progress_display& display) {
    ticker ticks = every(std::chrono::milliseconds(100));
    for (;;) {
        co_await ticks.next();
        display.draw(loop::current()->now());
    }
}

/// The orders, and those who carry them out.
struct work {
    transfer_room& room;
    std::deque<transfer_order> left;
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

task<> interrupt_on_signal(signal_set& signals, work& w, task_group& group) {
    co_await signals.next();
    w.room.interrupted = true;
    group.cancel();
}

task<> run_all(work& w, signal_set& signals) {
    spawn([&w] { return draw_now_and_then(w.room.display); }, "progress");
    const auto together = [&](task_group& group) -> task<> {
        spawn([&] { return interrupt_on_signal(signals, w, group); }, "signals");
        const std::size_t most = std::min<std::size_t>(w.room.settings.parallel, w.left.size());
        for (std::size_t i = 0; i != most; ++i) {
            group.spawn([&w] { return carry_out(w); }, "transfer");
        }
        co_return;
    };
    auto all = with_task_group(together);
    static_cast<void>(co_await as_result(all));
    if (w.room.interrupted) w.code = get_interrupted;
}

std::int64_t seconds_now() {
    return loop::current()->unix_time();
}

bool load_cookies(const transfer_room& room, const std::string& path) {
    if (path.empty()) return true;
    const auto loaded = room.client.cookies().load(path, seconds_now());
    if (loaded) return true;
    room.complain("cannot read the cookies of '" + path + "': " + loaded.error().code().message());
    return false;
}

bool save_cookies(const transfer_room& room, const std::string& path) {
    if (path.empty()) return true;
    const auto saved = room.client.cookies().save(path, seconds_now());
    if (saved) return true;
    room.complain("cannot write the cookies to '" + path + "': " + saved.error().code().message());
    return false;
}

/// All of it, with cookies read before and written behind.
task<> do_work(work& w, signal_set& signals) {
    const get_settings& s = w.room.settings;
    if (!load_cookies(w.room, s.cookie_file)) {
        w.code = get_read_error;
        co_return;
    }
    co_await run_all(w, signals);
    if (!save_cookies(w.room, s.cookie_jar) && w.code == get_ok) w.code = get_write_error;
}

/// Nothing when a file of it cannot be read.
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
    logger log;
    configure_log(log);
    log.set_sink(&log_or_print, &display);
    if (settings.client.verbose) log.set_level(log_layer::http, log_level::info);

    // A reader of our standard output that goes away must not end us.
    std::signal(SIGPIPE, SIG_IGN);
    // Before the signals are held back: it may wait for somebody to type.
    const auto request = body_of(settings, display);
    if (!request) return get_read_error;
    // Before threads are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    http::client client(settings.client);
    transfer_room room{settings, *request, client, display};
    work w{room, {std::make_move_iterator(orders.begin()), std::make_move_iterator(orders.end())}};
    runtime_options on;
    on.log = &log;
    block_on([&] { return do_work(w, signals); }, on);
    return w.code;
}

}  // namespace coracle::tool
