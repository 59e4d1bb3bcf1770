#pragma once

#include "integration/http/simulated_server.hpp"
#include "wire/websocket_bytes.hpp"

#include <coracle/http/client.hpp>
#include <coracle/websocket/connect.hpp>
#include <coracle/websocket/route.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

// A server with WebSocket in a simulated world, and a peer that speaks frames word for word.
namespace simulated_websocket {

using namespace simulated;
namespace websocket = coracle::websocket;
using websocket::close_code;
using websocket::detail::frame_header;
using websocket::detail::frame_opcode;
using websocket::detail::role;
using websocket_bytes::close_frame;
using websocket_bytes::frame;

inline constexpr std::string_view sample_key = "dGhlIHNhbXBsZSBub25jZQ==";
inline constexpr std::string_view sample_accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// A handshake; `fields` with CRLF each.
inline std::string handshake(std::string_view path, std::string_view fields = {}) {
    std::string text = "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n";
    text += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
    text.append("Sec-WebSocket-Key: ").append(sample_key).append("\r\n").append(fields);
    return text + "\r\n";
}

/// A client that sends what it is told, right or wrong.
class raw_peer {
public:
    explicit raw_peer(peer p) noexcept : peer_(std::move(p)) {}

    /// The head of the response.
    task<std::string> shake_hands(std::string_view path, std::string_view fields = {}) {
        co_await peer_.send(handshake(path, fields));
        co_return co_await peer_.read_until("\r\n\r\n");
    }
    task<> send(std::string bytes) { co_await peer_.send(std::move(bytes)); }
    task<> send_text(std::string_view text) {
        co_await peer_.send(frame(frame_opcode::text, text));
    }

    struct received {
        unsigned first = 0;  ///< the first byte of the frame
        std::string payload;
        frame_opcode code() const { return static_cast<frame_opcode>(first & 0x0f); }
        bool fin() const { return (first & 0x80) != 0; }
        bool compressed() const { return (first & 0x40) != 0; }
        close_code why() const {
            if (payload.size() < 2) return close_code::no_status;
            const auto high = static_cast<unsigned char>(payload[0]);
            const auto low = static_cast<unsigned char>(payload[1]);
            return static_cast<close_code>(high << 8 | low);
        }
    };

    /// The next frame, which must not be masked.
    task<received> read() {
        received r;
        const std::string head = co_await peer_.read_exactly(2);
        r.first = static_cast<unsigned char>(head[0]);
        const auto second = static_cast<unsigned char>(head[1]);
        EXPECT_EQ(second & 0x80, 0) << "masked";
        std::size_t size = second;
        const std::size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
        if (more != 0) {
            size = 0;
            const std::string length = co_await peer_.read_exactly(more);
            for (const char c : length) size = size << 8 | static_cast<unsigned char>(c);
        }
        r.payload = co_await peer_.read_exactly(size);
        co_return r;
    }
    task<std::string> read_text() {
        const received r = co_await read();
        EXPECT_EQ(r.code(), frame_opcode::text);
        co_return r.payload;
    }
    /// Reads a close frame, responds to it, and then the end.
    task<close_code> read_close() {
        for (;;) {
            const received r = co_await read();
            if (r.code() != frame_opcode::close) continue;
            auto responding = peer_.send(frame(frame_opcode::close, r.payload));
            co_await as_result(std::move(responding));
            co_await peer_.read_to_end();
            co_return r.why();
        }
    }
    peer& stream() noexcept { return peer_; }

private:
    peer peer_;
};

/// A world whose routes are the test's.
struct chat_world {
    explicit chat_world(std::uint64_t seed, const http::router& routes, http::server_options o = {},
                        simulation_options s = {})
        : in(seed, http::handler(routes), std::move(o), std::move(s)) {}

    task<raw_peer> connect() {
        peer p = co_await in.connect();
        co_return raw_peer(std::move(p));
    }
    template <class F>
    void run(F f) {
        in.run([&](world&) -> task<> { co_await f(*this); });
    }
    static constexpr const char* host = "ws://127.0.0.1:80";

    world in;
};

/// Connects to "/ws" with compression.
inline task<websocket::connection> connect_compressed(http::client& client,
                                                      websocket::compression_mode mode) {
    websocket::options o;
    o.compression.mode = mode;
    auto dialing = websocket::connect(client, "ws://127.0.0.1:80/ws");
    dialing.options(o);
    auto ws = co_await dialing;
    EXPECT_TRUE(ws.is_compressed());
    co_return std::move(ws);
}

/// The status by which a server has refused a handshake.
inline std::optional<http::status> refused_status(const error& e) {
    const websocket::refusal* const r = websocket::refusal_in(e);
    return r == nullptr ? std::nullopt : std::optional(r->status);
}

/// Sends back what comes.
inline task<> echo(websocket::connection& ws) {
    while (auto message = co_await ws.receive()) co_await ws.send(std::move(*message));
}

inline constexpr auto echo_handler = [](websocket::connection& ws) -> task<> { co_await echo(ws); };

inline constexpr std::uint64_t route_seeds = 8;

/// Runs `f(world)` with a route "/ws" for each of some seeds, and gives what was counted.
template <class Handler, class F>
void on_route(websocket::route_options o, Handler h, F f, std::uint64_t n = route_seeds) {
    for (const std::uint64_t seed : seeds(n)) {
        http::router routes;
        const auto route = websocket::route(routes, "/ws", o, h);
        chat_world w(seed, routes);
        w.run([&](chat_world& in) -> task<> { co_await f(in, route); });
        EXPECT_EQ(route.counters().open, 0U);
        if (::testing::Test::HasFailure()) return;
    }
}

/// Sends bytes behind a handshake, and expects a close frame with this code, and the end.
inline task<> expect_close(chat_world& w, std::string bytes, close_code code,
                           std::string_view why) {
    raw_peer p = co_await w.connect();
    co_await p.shake_hands("/ws");
    auto sending = p.send(std::move(bytes));
    co_await as_result(std::move(sending));
    const close_code got = co_await p.read_close();
    EXPECT_EQ(static_cast<unsigned>(got), static_cast<unsigned>(code)) << why;
}

}  // namespace simulated_websocket
