#pragma once

#include "http/h1/chunked_decoder.hpp"

#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace coracle::testing {

/// What a handler behind a server in a simulation answered to one request.
struct simulated_answer {
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

inline void take_chunks(simulated_answer& a, std::string_view rest) {
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

inline void take_apart(simulated_answer& a, std::string_view all, bool has_body) {
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

/// Sends `request`, which must ask for the connection to be closed, to a server with this handler.
inline simulated_answer answer_of(http::handler h, std::string request,
                                  http::server_options options = {}) {
    simulation sim(simulation_options{});
    options.listen = "127.0.0.1:80";
    http::server server(std::move(h), std::move(options));
    server.open(sim.loop());
    simulated_answer a;
    auto main = [&]() -> task<> {
        bool ended = false;
        spawn(
            [&]() -> task<> {
                co_await as_result(server.run(sim.loop()));
                ended = true;
            },
            "server");
        peer p = co_await connect_peer(server.addresses().front());
        co_await p.send(request);
        std::string all = co_await p.read_to_end();
        a.ended = p.ended();
        detail::take_apart(a, all, !request.starts_with("HEAD "));
        server.stop();
        while (!ended) co_await sleep_for(std::chrono::milliseconds(100));
    };
    sim.run(main);
    a.counters = server.counters();
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
