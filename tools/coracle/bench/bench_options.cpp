#include "bench_options.hpp"

#include "bench_texts.hpp"
#include "cli_options.hpp"
#include "settings.hpp"

namespace coracle::tool::bench {
namespace {

constexpr const char* about =
    R"(Load a server of HTTP or WebSocket, and measure how it responds.

Without --rate the model is closed: each connection sends its next request when the response to the
one before has come, which finds the highest throughput. With --rate it is open: requests are due at
a constant rate whatever the server does, and latency counts from the time at which a request was
due, so that a server that stands still for a second shows a second. On a WebSocket, each request is
a message, and the next message received is its response.

Load only servers that are yours to load.
)";

constexpr const char* footer = R"(Times: 500us, 20ms, 10s, 2m, 1h, or a number of seconds.

Files:
  --scenario reads a line of JSON for each request:
      {"url": "/people", "method": "POST", "headers": {"A": "b"}, "body": "{}", "weight": 3}
  Only "url" is needed; requests are drawn at random, by weight (default 1). Or it reads a HAR file
  saved by a browser, whose requests to this server are made in order.
  --compare reads two files written by --json. It exits with 103 when throughput, a latency or the
  share of errors is worse, with 95% confidence and by more than --tolerance.

Environment:
  CORACLE_LOG, CORACLE_BACKEND
                   as for `coracle serve`

Exit codes:
  0  measured; with --compare: nothing is worse
  1  no response was received: the reason is on standard error
  2  wrong usage
  3  the URL is malformed
 22  with --fail: an error, or a status of 400 or above
 23  a report cannot be written
 26  a file cannot be read
103  with --compare: something is worse
130  interrupted, after the report of what was measured until then

Examples:
  coracle bench http://127.0.0.1:8080/
  coracle bench -c 64 -t 2 -d 30s http://127.0.0.1:8080/
  coracle bench --rate 5000 --warm-up 5s -d 1m http://127.0.0.1:8080/ --html report.html
  coracle bench --http2 -c 8 -p 32 https://127.0.0.1:8443/ -k
  coracle bench --ws -c 100 --data hello ws://127.0.0.1:8080/echo
  coracle bench -n 10000 -m POST --data '{"name":"Ada"}' -H 'Content-Type: application/json' URL
  coracle bench --runs 5 --json before.json URL
  coracle bench --compare before.json after.json)";

}  // namespace

bench_options::bench_options(CLI::App& app)
    : texts_(std::make_unique<texts>()), command_(app.add_subcommand("bench", about)),
      client_(*command_) {
    CLI::App& bench = *command_;
    bench.footer(footer);
    bench.set_help_flag("-h,--help", "Print this help and exit");
    bench
        .add_option("URL", texts_->url,
                    "The URL; without a scheme http:// is used, with --ws ws://")
        ->type_name("");
    add_load();
    add_request();
    client_.add_connection_of_one_version();
    client_.add_connect_timeout("Connection");
    add_reports();
}

bench_options::~bench_options() = default;

void bench_options::add_load() {
    CLI::App& bench = *command_;
    texts& t = *texts_;
    bench_settings& s = t.settings;
    constexpr const char* group = "Load";
    add_number(bench, group, "-c,--connections", s.load.connections, "N", 1U, most_connections,
               "Connections. Default: 50");
    add_text(bench, group, "-d,-z,--duration", t.length, "TIME",
             "How long to measure. Default: 10s");
    add_number(bench, group, "-n,--requests", s.load.requests, "N", std::uint64_t{1},
               std::uint64_t{1} << 40, "Stop after N requests, not after a time");
    add_number(bench, group, "-R,-q,--rate", s.load.rate, "N", 0.001, 1e8,
               "Open model: N requests a second, over all connections.\n"
               "Default: as many as the server takes");
    add_number(bench, group, "-p,--streams", s.load.streams, "N", 1U, most_streams,
               "With --http2: N requests at a time on each connection.\n"
               "Default: 1");
    add_number(bench, group, "-t,--threads", s.load.loops, "N", 1U, 1024U,
               "Event loops, each with a thread. Default: one for every\n"
               "second core, and no more than connections");
    add_text(bench, group, "--warm-up", t.warm_up, "TIME",
             "How long to make requests before measuring. Default: 0");
    add_text(bench, group, "--ramp", t.ramp, "TIME",
             "Open the connections one after the other over this time,\n"
             "and measure when all are there. Default: 0");
    add_text(bench, group, "--timeout", t.timeout, "TIME",
             "A request without a response after this time counts as\n"
             "failed, and its connection is closed. Default: 10s");
    add_flag(bench, group, "--new-connections", s.load.new_connections,
             "Open a connection for each request (HTTP/1.1); latency does\n"
             "not include opening it");
    add_number(bench, group, "--runs", s.runs, "N", 1U, 1000U,
               "Measure N times, for --compare. Default: 1");
}

void bench_options::add_request() {
    CLI::App& bench = *command_;
    texts& t = *texts_;
    constexpr const char* group = "Request";
    add_text(bench, group, "-m,-X,--method", t.method, "METHOD",
             "The method. Default: GET, POST with --data");
    add_list(bench, group, "-H,--header", t.fields, "HEADER",
             "A header, 'Name: value'; may be repeated");
    add_text(bench, group, "--data", t.data, "DATA",
             "The body, or @FILE; for a WebSocket, the message");
    add_flag(bench, group, "--http2", t.http2, "HTTP/2, also without TLS (prior knowledge)");
    add_flag(bench, group, "--ws", t.ws, "Use a WebSocket. The default for ws:// and wss:// URLs");
    add_text(bench, group, "--scenario", t.scenario, "FILE",
             "Requests from a file, see below; URLs in it may be\n"
             "relative to URL");
    client_.add_user_agent(group);
}

void bench_options::add_reports() {
    CLI::App& bench = *command_;
    texts& t = *texts_;
    bench_settings& s = t.settings;
    constexpr const char* group = "Reports";
    not_empty(add_text(bench, group, "--json", s.json, "FILE",
                       "Write the figures as JSON, '-' is standard output"));
    not_empty(add_text(bench, group, "--html", s.html, "FILE", "Write a page with plots"));
    bench.add_option("--compare", s.compare, "Compare two JSON reports; makes no requests")
        ->type_name("BEFORE AFTER")
        ->type_size(2)
        ->expected(1)
        ->group(group);
    add_number(bench, group, "--tolerance", s.tolerance, "PERCENT", 0.0, 100.0,
               "With --compare: ignore changes for the worse up to this.\n"
               "Default: 2");
    add_flag(bench, group, "-f,--fail", s.fail,
             "Exit with 22 after an error, or a status of 400 or above");
    add_flag(bench, group, "-s,--silent", s.silent, "Print no progress and no summary");
}

}  // namespace coracle::tool::bench
