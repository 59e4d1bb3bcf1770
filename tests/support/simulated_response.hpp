#pragma once

#include <coracle/http/h1/chunked_decoder.hpp>
#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace coracle::testing {

struct simulated_response;
/// Plays a request of HTTP/1.1 over HTTP/2 and compares the response; what is malformed or of
/// HTTP/1.0 has no counterpart there.
void expect_same_over_http_2(const simulated_response& a, const http::handler& h,
                             std::string_view request, http::server_options options);

/// The response of a handler to one request, through a server in a simulation.
struct simulated_response {
    std::string interim;  ///< heads of 1xx
    std::string head;
    std::string body;      ///< without its framing
    std::string trailers;  ///< field lines
    bool chunked = false;
    bool whole = true;  ///< the framing ended as it should
    ending ended = ending::finished;
    http::server_counters counters;

    int status() const { return head.size() < 12 ? 0 : std::stoi(head.substr(9, 3)); }
    /// The value of the first such field, or "-".
    std::string header(std::string_view name) const {
        const std::string line = "\r\n" + std::string(name) + ": ";
        const std::size_t at = head.find(line);
        if (at == std::string::npos) return "-";
        const std::size_t begin = at + line.size();
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }
};

namespace detail {

inline void take_chunks(simulated_response& a, std::string_view rest) {
    http::h1::chunked_decoder decoder;
    a.whole = false;
    while (!a.whole) {
        const auto e = decoder.decode(rest);
        if (e.status == http::h1::chunk_status::error) return;
        rest.remove_prefix(e.consumed);
        a.body += e.data;
        if (e.status == http::h1::chunk_status::need_more) return;
        a.whole = e.status == http::h1::chunk_status::end;
    }
    for (const auto& f : decoder.trailers()) {
        a.trailers += std::string(f.name) + ": " + std::string(f.value) + "\r\n";
    }
    EXPECT_EQ(rest, "");
}

inline void take_apart(simulated_response& a, std::string_view all, bool has_body) {
    for (;;) {
        const std::size_t end = all.find("\r\n\r\n");
        if (end == std::string_view::npos) {
            a.whole = false;
            return;
        }
        a.head = all.substr(0, end + 4);
        all.remove_prefix(end + 4);
        if (!a.head.starts_with("HTTP/1.1 1")) break;
        a.interim += a.head;
    }
    a.chunked = a.header("Transfer-Encoding") == "chunked";
    const std::string length = a.header("Content-Length");
    if (!has_body)
        a.body = all;
    else if (a.chunked)
        take_chunks(a, all);
    else
        a.body = all;
    if (has_body && length != "-") a.whole = std::to_string(a.body.size()) == length;
}

}  // namespace detail

namespace detail {

/// Serves with `h` in a simulation while `talk(server)` runs.
template <class F>
http::server_counters serve_once(const http::handler& h, http::server_options options, F talk) {
    simulation sim(simulation_options{});
    options.listen = "127.0.0.1:80";
    http::server server(h, std::move(options));
    server.open(sim.loop());
    auto main = [&]() -> task<> {
        bool ended = false;
        spawn(
            [&]() -> task<> {
                co_await as_result(server.run(sim.loop()));
                ended = true;
            },
            "server");
        co_await talk(server);
        server.stop();
        while (!ended) co_await sleep_for(std::chrono::milliseconds(100));
    };
    sim.run(main);
    return server.counters();
}

}  // namespace detail

/// Sends `request`, which must ask for the connection to be closed, to a server with this handler,
/// over HTTP/1.1.
inline simulated_response response_over_http_1(const http::handler& h, std::string request,
                                               http::server_options options = {}) {
    simulated_response a;
    const auto talk = [&](http::server& server) -> task<> {
        peer p = co_await connect_peer(server.addresses().front());
        co_await p.send(request);
        std::string all = co_await p.read_to_end();
        a.ended = p.ended();
        detail::take_apart(a, all, !request.starts_with("HEAD "));
    };
    a.counters = detail::serve_once(h, std::move(options), talk);
    return a;
}

/// Sends `request` and gives the response; over HTTP/2 too, and expects that it is the same one.
inline simulated_response response_of(const http::handler& h, std::string request,
                                      http::server_options options = {}) {
    simulated_response a = response_over_http_1(h, request, options);
    expect_same_over_http_2(a, h, request, std::move(options));
    return a;
}

/// A request without a body; `fields` are lines with their CRLF.
inline std::string request_for(std::string_view method, std::string_view fields = {}) {
    return std::string(method) + " / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
           std::string(fields) + "\r\n";
}

/// A POST with a body of announced size.
inline std::string post_of(std::string_view body, std::string_view fields = {}) {
    return "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n" + std::string(fields) + "\r\n" + std::string(body);
}

}  // namespace coracle::testing
