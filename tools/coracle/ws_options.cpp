#include "ws_options.hpp"

#include "cli_options.hpp"
#include "settings.hpp"

#include <string>
#include <vector>

namespace coracle::tool {
namespace {

constexpr const char* about = R"(Connect to a WebSocket: send lines, and print messages.

Each line of standard input is sent as a text message, and each received message is printed on a
line of standard output, binary ones as a hexadecimal dump. A terminal has a prompt with the usual
keys and a history. At the end of the input the connection is closed: at once on a terminal,
otherwise when no message was received for a while (--wait).

With --listen it is an echo server: it sends each message back, until SIGINT or SIGTERM.
)";

constexpr const char* footer = R"(Environment:
  NO_COLOR         no colours on a terminal
  http_proxy, https_proxy, all_proxy, no_proxy, CORACLE_<OPTION>, CORACLE_LOG, CORACLE_BACKEND
                   as for `coracle get`

Exit codes:
  0  the connection was closed normally: by this side, or by the server with 1000, 1001 or no code
  1  not a URL of ws, wss, http or https; with --listen: cannot listen
  2  wrong usage
  8  the response to the handshake is malformed, or does not match the request
 18  the server closed before the messages of --close-after were received
 22  the server refused the handshake with another status
 23  standard output cannot be written
 26  standard input or a file cannot be read, or has a line that is not UTF-8
 28  timeout
101  the connection was lost, or the server broke the protocol or did not close
102  the server closed with another code than 1000 and 1001; the error line has it
130  interrupted
Failures to connect have the codes of `coracle get`: 6, 7, 35, 60 and so on.

Examples:
  coracle ws wss://example.com/chat
  coracle ws -H 'Origin: https://example.com' --subprotocol chat wss://example.com/chat
  echo '{"subscribe":"news"}' | coracle ws --json --wait 60 wss://example.com/feed
  echo ping | coracle ws --one ws://127.0.0.1:8080/echo
  coracle ws --no-input wss://example.com/ticker >> ticker.log
  coracle ws --listen 127.0.0.1:8080)";

constexpr double most_seconds = 1e7;

}  // namespace

struct ws_options::texts {
    ws_settings settings;
    std::vector<std::string> fields;
    std::string listen;
    double wait = 0;
    double ping = 0;
    double max_time = 0;
    bool one = false;
    bool no_input = false;
    bool no_compress = false;
};

ws_options::ws_options(CLI::App& app)
    : texts_(std::make_unique<texts>()), command_(app.add_subcommand("ws", about)),
      client_(*command_) {
    CLI::App& ws = *command_;
    ws.footer(footer);
    ws.set_help_flag("-h,--help", "Print this help and exit");
    ws.add_option("URL", texts_->settings.url, "The URL; without a scheme ws:// is used")
        ->type_name("");
    add_request();
    add_messages();
    add_end();
    client_.add_credentials("Authentication");
    client_.add_proxy();
    client_.add_connection();
    client_.add_connect_timeout("Connection");
    client_.add_verbose("Connection");
}

ws_options::~ws_options() = default;

void ws_options::add_request() {
    CLI::App& ws = *command_;
    texts& t = *texts_;
    constexpr const char* group = "Handshake";
    add_list(ws, group, "-H,--header", t.fields, "HEADER",
             "A header, 'Name: value'; may be repeated");
    add_list(ws, group, "--subprotocol", t.settings.subprotocols, "NAME",
             "Offer a subprotocol; may be repeated, the preferred one\n"
             "first. With --listen: speak it");
    add_flag(ws, group, "--no-compress", t.no_compress,
             "Do not compress. Default: compress if the server agrees");
    client_.add_user_agent(group);
    ws.add_option("--listen", t.listen,
                  "Do not connect, but listen and echo. Default address:\n"
                  "127.0.0.1 and a free port")
        ->type_name("[ADDRESS]")
        ->expected(0, 1)
        ->group(group);
}

void ws_options::add_messages() {
    CLI::App& ws = *command_;
    texts& t = *texts_;
    constexpr const char* group = "Messages";
    add_flag(ws, group, "--json", t.settings.json, "Pretty-print JSON messages");
    add_flag(ws, group, "--binary", t.settings.raw_binary,
             "Write binary messages unchanged, without a line end");
    add_flag(ws, group, "--no-input", t.no_input,
             "Ignore standard input; receive until the server closes");
}

void ws_options::add_end() {
    CLI::App& ws = *command_;
    texts& t = *texts_;
    constexpr const char* group = "Closing";
    add_flag(ws, group, "--one", t.one, "Close after one received message");
    add_number(ws, group, "--close-after", t.settings.close_after, "N", std::uint64_t{1},
               std::uint64_t{1} << 53,
               "Close after N received messages, not at the end of the input");
    add_number(ws, group, "--wait", t.wait, "SECONDS", 0.0, most_seconds,
               "After the input has ended, close when no message was received\n"
               "for this time. Default: 1; on a terminal 0");
    add_number(ws, group, "--ping", t.ping, "SECONDS", 0.001, most_seconds,
               "Send a ping at this interval and print its round trip; end\n"
               "when no pong was received within the same time. Default:\n"
               "no pings");
    add_number(ws, group, "-m,--max-time", t.max_time, "SECONDS", 0.001, most_seconds,
               "End after this time. Default: no limit");
}

ws_settings ws_options::settings() const {
    const texts& t = *texts_;
    ws_settings s = t.settings;
    if (command_->count("--listen") != 0) s.listen = t.listen;
    if (s.listen ? !s.url.empty() : s.url.empty()) {
        throw failure(s.listen ? "--listen takes no URL"
                               : "URL is required (see coracle ws --help)");
    }
    client_.apply(s.client, s.pool);
    for (const std::string& f : t.fields) s.fields.push_back(http_header_field(f));
    if (t.one && s.close_after != 0) {
        throw failure("--one and --close-after cannot be used together");
    }
    if (t.one) s.close_after = 1;
    s.compress = !t.no_compress;
    s.reads_input = !t.no_input;
    if (command_->count("--wait") != 0) s.linger = seconds_of(t.wait);
    s.ping = seconds_of(t.ping);
    s.max_time = seconds_of(t.max_time);
    return s;
}

}  // namespace coracle::tool
