#include "ws_command.hpp"

#include "progress_display.hpp"
#include "settings.hpp"
#include "shown_url.hpp"
#include "verbose_log.hpp"
#include "ws_listen.hpp"
#include "ws_screen.hpp"
#include "ws_session.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>

#include <strings.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace coracle::tool {
namespace {

/// The environment variable is there, and not empty.
bool is_set(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0';
}

bool is_dumb() {
    const char* const value = std::getenv("TERM");
    return value == nullptr || std::string_view(value) == "dumb";
}

message_style style_of(const ws_settings& s) {
    message_style style;
    style.terminal = ::isatty(STDOUT_FILENO) != 0;
    style.colours = style.terminal && !is_set("NO_COLOR") && !is_dumb();
    style.json = s.json;
    // A terminal obeys what it is sent.
    style.raw_binary = s.raw_binary && !style.terminal;
    return style;
}

bool is_interactive(const ws_settings& s, const message_style& style) {
    return s.reads_input && style.terminal && ::isatty(STDIN_FILENO) != 0 && !is_dumb();
}

/// Returns the URL with a scheme; empty for one that no WebSocket has.
std::string url_with_scheme(const std::string& url) {
    const std::size_t at = url.find("://");
    if (at == std::string::npos || at > url.find_first_of("/?#")) return "ws://" + url;
    for (const std::string_view known : {"ws", "wss", "http", "https"}) {
        if (known.size() == at && ::strncasecmp(url.c_str(), known.data(), at) == 0) return url;
    }
    return {};
}

int listen(const ws_settings& settings) {
    try {
        serve_echo(settings);
        return ws_ok;
    } catch (const wrong_usage&) {
        throw;
    } catch (const failure& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        return ws_cannot_listen;
    }
}

}  // namespace

int ws(const ws_settings& settings) {
    if (settings.listen) return listen(settings);
    ws_settings s = settings;
    s.url = url_with_scheme(settings.url);
    if (s.url.empty()) {
        std::fprintf(stderr, "coracle: %s: only ws, wss, http and https URLs are supported\n",
                     printable(without_secrets(settings.url)).c_str());
        return ws_bad_scheme;
    }
    const message_style style = style_of(s);
    progress_display no_bars(false, 0);
    logger log(log_level::warning);
    obey_environment(log);
    log.set_sink(&log_or_print, &no_bars);
    if (s.client.verbose) log.set_level(log_layer::http, log_level::info);
    // A reader of our standard output that goes away must not end us.
    std::signal(SIGPIPE, SIG_IGN);
    // Before threads are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    http::client client(s.client, s.pool);
    ws_screen screen(style, is_interactive(s, style));
    ws_session session(s, client, screen);
    runtime_options on;
    on.log = &log;
    return block_on([&] { return session.run(signals); }, on);
}

}  // namespace coracle::tool
