// The meaning of the arguments of `coracle bench`.

#include "bench_texts.hpp"
#include "cli_options.hpp"
#include "figures/span_text.hpp"
#include "input_file.hpp"
#include "settings.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <type_traits>

namespace coracle::tool::bench {
namespace {

constexpr std::size_t most_scenario_bytes = 256 * 1024 * 1024;
constexpr std::size_t most_data_bytes = 64 * 1024 * 1024;
constexpr double longest_run = 1000 * 3600;  ///< seconds, as of --duration

duration span_of(const char* option, const std::string& text, duration fallback) {
    if (text.empty()) return fallback;
    const auto d = read_span(text);
    if (!d) {
        throw failure(std::string("cannot read ") + option + " '" + text + "': write it as in " +
                      option + " 10s, 500ms or 2m");
    }
    return *d;
}

url url_of(const std::string& text, bool ws) {
    const std::size_t scheme = text.find("://");
    const bool has_scheme = scheme != std::string::npos && scheme < text.find_first_of("/?#");
    std::string whole = has_scheme ? text : (ws ? "ws://" : "http://") + text;
    auto u = url::parse(whole);
    if (!u) throw malformed_url("the URL is malformed: " + std::string(u.error().subject()));
    return *std::move(u);
}

/// An origin of HTTP for one of WebSocket: the requests are those of its handshake.
url http_url_of(const url& u) {
    if (u.scheme() != "ws" && u.scheme() != "wss") return u;
    std::string text = u.scheme() == "ws" ? "http" : "https";
    text += u.text().substr(u.scheme().size());
    return *url::parse(text);
}

/// Resets what the lanes of HTTP/1.1 know nothing of, as all protocols are to be measured alike;
/// returns the names of what was set.
std::string leave_out_what_http_1_lacks(http::client_options& o) {
    std::string names;
    const auto reset = [&names](auto& value, const char* name) {
        const std::remove_reference_t<decltype(value)> usual{};
        if (!(value == usual)) names += (names.empty() ? "" : ", ") + std::string(name);
        value = usual;
    };
    o.proxy_from_environment = false;
    reset(o.proxy, "proxy");
    reset(o.follow, "follow");
    reset(o.cookies, "cookies");
    reset(o.authentication.scheme, "authentication_mode");
    o.authentication = {};
    reset(o.netrc, "netrc");
    reset(o.rate_limit, "rate_limit");
    reset(o.low_speed_limit, "low_speed_limit");
    reset(o.retry.retries, "retry_retries");
    reset(o.retry.hedge_after, "retry_hedge_after");
    return names;
}

unsigned default_loops() {
    return std::max(1U, std::thread::hardware_concurrency() / 2);
}

}  // namespace

void bench_options::read_protocol(bench_settings& s) const {
    const texts& t = *texts_;
    if (t.http2 && t.ws) throw failure("--http2 and --ws exclude each other");
    if (t.http2) s.load.protocol = load_protocol::http_2;
    if (t.ws) s.load.protocol = load_protocol::websocket;
    if (!t.url.empty()) {
        const url u = url_of(t.url, t.ws);
        const bool of_ws = u.scheme() == "ws" || u.scheme() == "wss";
        if (!of_ws && u.scheme() != "http" && u.scheme() != "https") {
            throw failure("only http, https, ws and wss URLs can be loaded, not " +
                          std::string(u.scheme()));
        }
        if (u.has_user()) {
            throw failure(
                "a user in the URL is not sent: write it as in "
                "-H 'Authorization: Basic ...'");
        }
        if (of_ws && t.http2) throw failure("--http2 wants an http or https URL");
        if (of_ws) s.load.protocol = load_protocol::websocket;
        s.load.what.origin = http_url_of(u);
    }
}

void bench_options::read_times(bench_settings& s) const {
    const texts& t = *texts_;
    s.load.length = span_of("--duration", t.length, s.load.length);
    s.load.warm_up = span_of("--warm-up", t.warm_up, s.load.warm_up);
    s.load.ramp = span_of("--ramp", t.ramp, s.load.ramp);
    s.load.timeout = span_of("--timeout", t.timeout, s.load.timeout);
    if (!t.length.empty() && s.load.requests != 0) {
        throw failure("--duration and --requests exclude each other");
    }
    if (s.load.length < std::chrono::milliseconds(10)) throw failure("--duration is too short");
    if (s.load.timeout < std::chrono::milliseconds(1)) throw failure("--timeout is too short");
}

void bench_options::read_requests(bench_settings& s) const {
    const texts& t = *texts_;
    scenario& what = s.load.what;
    if (!t.scenario.empty()) {
        if (!t.method.empty() || !t.data.empty()) {
            throw failure("with --scenario, method and body are those of its requests");
        }
        auto read = read_scenario(content_of(t.scenario, most_scenario_bytes), what.origin);
        if (!read) throw failure("--scenario '" + t.scenario + "': " + read.error());
        what = *std::move(read);
    } else {
        if (t.url.empty()) throw failure("URL is required (see coracle bench --help)");
        planned_request one;
        one.target = what.origin.target();
        if (!t.data.empty()) {
            one.body =
                t.data.front() == '@' ? content_of(t.data.substr(1), most_data_bytes) : t.data;
            one.method = "POST";
        }
        if (!t.method.empty()) one.method = t.method;
        what.requests.push_back(std::move(one));
        what.add_up_weights();
    }
    for (planned_request& r : what.requests) {
        for (const std::string& f : t.fields) r.fields.push_back(http_header_field(f));
    }
    if (s.load.protocol == load_protocol::websocket) {
        for (planned_request& r : what.requests) {
            if (r.body.empty()) r.body = "ping";
        }
    }
}

void bench_options::check(const bench_settings& s) const {
    const load_plan& p = s.load;
    if (p.streams > 1 && p.protocol != load_protocol::http_2) {
        throw failure(
            "--streams wants --http2: HTTP/1.1 has one request at a time on a connection");
    }
    if (p.new_connections && p.protocol != load_protocol::http_1_1) {
        throw failure("--new-connections is for HTTP/1.1 alone");
    }
    if (p.lanes() > most_lanes) {
        throw failure("connections times streams are more than " + count_text(most_lanes));
    }
    if (p.requests != 0 && p.requests < p.lanes()) {
        throw failure("--requests " + std::to_string(p.requests) + " are fewer than the " +
                      std::to_string(p.lanes()) + " that are made at a time (--connections)");
    }
    if (p.requests != 0 && p.is_open() && static_cast<double>(p.requests) / p.rate > longest_run) {
        throw failure("--requests at --rate take longer than 1000 hours");
    }
    if (p.loops > p.connections) throw failure("--threads are more than --connections");
}

bench_settings bench_options::settings() const {
    const texts& t = *texts_;
    bench_settings s = t.settings;
    if (!s.compare.empty()) {
        if (!t.url.empty()) throw failure("--compare wants no URL");
        return s;
    }
    http::pool_options unused;
    client_.apply(s.load.client, unused);
    const std::string unused_names = leave_out_what_http_1_lacks(s.load.client);
    if (!unused_names.empty() && !s.silent) {
        std::fprintf(stderr, "coracle: bench does without these options: %s\n",
                     unused_names.c_str());
    }
    read_protocol(s);
    read_times(s);
    read_requests(s);
    if (command_->count("--threads") == 0) {
        s.load.loops = std::min(default_loops(), s.load.connections);
    }
    check(s);
    return s;
}

}  // namespace coracle::tool::bench
