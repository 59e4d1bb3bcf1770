#pragma once

#include <coracle/http/client.hpp>
#include <coracle/http/request.hpp>
#include <coracle/runtime/channel.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace coracle::testing {

/// Responds with the body of the request, while it comes.
inline http::response echo_body(http::request& req) {
    http::response r;
    r.set_body(http::body::relay(req.body()));
    return r;
}

/// Sends so many pieces of 100,000 bytes to a server that echoes, and receives them meanwhile: more
/// than windows and buffers hold.
inline task<> echo_much(http::client& client, std::string url, std::size_t pieces) {
    const std::string piece(100'000, 'p');
    std::size_t received = 0;
    const auto send = [&](http::body_writer& out) -> task<> {
        for (std::size_t i = 0; i != pieces; ++i) co_await out.write(piece);
    };
    const auto receive = [&](http::response& r) -> task<> {
        EXPECT_EQ(r.status(), http::status::ok);
        for (;;) {
            const std::string_view some = co_await r.read();
            if (some.empty()) co_return;
            EXPECT_EQ(some.find_first_not_of('p'), std::string_view::npos);
            received += some.size();
        }
    };
    co_await client.post(url).body(http::body::stream(send)).duplex(receive);
    EXPECT_EQ(received, pieces * piece.size());
}

/// Sends so many lines to a server that echoes, each one when the one before has come back.
inline task<> echo_by_turns(http::client& client, std::string url, int lines) {
    channel<int> heard(1);
    int last = -1;
    const auto ask = [&](http::body_writer& out) -> task<> {
        for (int i = 0; i != lines; ++i) {
            const std::string line = std::to_string(i) + '\n';
            co_await out.write(line);
            EXPECT_EQ(co_await heard.receive(), i);
        }
    };
    const auto hear = [&](http::response& r) -> task<> {
        std::string line;
        for (;;) {
            const std::string_view piece = co_await r.read();
            if (piece.empty()) co_return;
            line += piece;
            if (!line.ends_with('\n')) continue;
            last = std::stoi(line);
            line.clear();
            co_await heard.send(last);
        }
    };
    co_await client.post(url).body(http::body::stream(ask)).duplex(hear);
    EXPECT_EQ(last, lines - 1);
}

}  // namespace coracle::testing
