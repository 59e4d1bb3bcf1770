// Hostile peers of a WebSocket server: each meets a limit or a rule, gets the close code of RFC
// 6455 section 7.4.1, and is counted; a peer beside it is served, and the memory comes back.

#include "integration/websocket/simulated_websocket.hpp"
#include "support/allocation_count.hpp"

#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <malloc.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace simulated_websocket;
using websocket::counters;
using counter = std::uint64_t counters::*;

constexpr std::int64_t mib = 1024 * 1024;
/// The most that the heap may grow by, for one hostile connection at its limits.
constexpr std::int64_t most_growth = 4 * mib;
/// Allocations that three attacks may leave behind three others: the pools keep some blocks.
constexpr std::int64_t most_kept = 256;

/// Bytes of the heap that are in use.
std::int64_t heap() {
    const struct mallinfo2 now = ::mallinfo2();
    return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
}

struct attack {
    const char* name;
    std::uint32_t rounds;
    std::string (*bytes)(std::uint32_t round);
    counter counted;
    close_code code = close_code::no_status;  ///< that it gets; none: it gets no close frame
    bool reads = true;                        ///< what the server sends
    std::string fields = {};                  ///< of the handshake
    websocket::route_options options = {};
    duration lasts = {};  ///< how long the peer stays, silent, behind its bytes
};

/// The code of the close frame among frames of a server.
std::optional<close_code> close_in(std::string_view bytes) {
    while (bytes.size() >= 2) {
        const auto first = static_cast<unsigned char>(bytes[0]);
        std::size_t size = static_cast<unsigned char>(bytes[1]) & 0x7f;
        const std::size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
        if (bytes.size() < 2 + more) break;
        if (more != 0) size = 0;
        for (std::size_t i = 0; i != more; ++i)
            size = size << 8 | static_cast<unsigned char>(bytes[2 + i]);
        if (bytes.size() - 2 - more < size) break;
        const std::string_view payload = bytes.substr(2 + more, size);
        if ((first & 0x0f) == 8 && size >= 2) {
            return static_cast<close_code>(static_cast<unsigned char>(payload[0]) << 8 |
                                           static_cast<unsigned char>(payload[1]));
        }
        bytes.remove_prefix(2 + more + size);
    }
    return std::nullopt;
}

class scene {
public:
    scene(chat_world& w, const attack& a) : world_(&w), attack_(&a) {}

    task<> run() {
        const auto both = [this](task_group& g) -> task<> {
            g.spawn([this] { return behave(); });
            g.spawn([this] { return misbehave(); });
            co_return;
        };
        co_await with_task_group(both);
    }
    unsigned good() const noexcept { return good_; }
    std::int64_t most_heap() const noexcept { return most_heap_; }
    std::optional<close_code> code() const { return close_in(said_); }

private:
    task<> behave() {
        raw_peer p = co_await world_->connect();
        co_await p.shake_hands("/ws");
        for (int i = 0; i != 50; ++i) {
            const std::string text = "good " + std::to_string(i);
            co_await p.send_text(text);
            const std::string back = co_await p.read_text();
            if (back == text) ++good_;
            co_await sleep_for(2ms);
        }
        co_await p.send(close_frame(close_code::normal));
        co_await p.read_close();
    }
    task<> misbehave() {
        raw_peer p = co_await world_->connect();
        co_await p.shake_hands("/ws", attack_->fields);
        const auto hearing = [&]() -> task<> {
            said_ = p.stream().pending();
            while (attack_->reads) {
                net::receive receiving = p.stream().stream().receive();
                auto got = co_await as_result(receiving);
                if (!got) co_return;
                said_ += got->view();
            }
        };
        const auto sending = [&]() -> task<> {
            for (std::uint32_t i = 0; i != attack_->rounds; ++i) {
                auto out = p.send(attack_->bytes(i));
                const auto sent = co_await as_result(std::move(out));
                most_heap_ = std::max(most_heap_, heap());
                if (!sent) co_return;
                if (i % 64 == 0) co_await yield();
            }
        };
        const auto both = [&](task_group& g) -> task<> {
            g.spawn(hearing);
            // A server that does not receive lets it wait.
            const auto some_time = [&]() -> task<> { co_await sending(); };
            co_await as_result(with_timeout(20s, some_time));
            const time_point end = world_->in.sim.now() + attack_->lasts + 500ms;
            while (world_->in.sim.now() < end) {
                most_heap_ = std::max(most_heap_, heap());
                co_await sleep_for(50ms);
            }
            g.cancel();
        };
        co_await as_result(with_task_group(both));
        p.stream().close(true);
    }

    chat_world* world_;
    const attack* attack_;
    std::string said_;
    std::int64_t most_heap_ = 0;
    unsigned good_ = 0;
};

template <class Handler>
void expect_harmless(const attack& a, Handler h) {
    SCOPED_TRACE(a.name);
    for (const std::uint64_t seed : seeds(2)) {
        http::router routes;
        const auto route = websocket::route(routes, "/ws", a.options, h);
        chat_world w(seed, routes);
        w.run([&](chat_world& in) -> task<> {
            // The first three find out what the pools keep; a leak would go on.
            std::int64_t before = 0;
            std::int64_t early = INT64_MAX;
            std::int64_t late = INT64_MAX;
            for (int i = 0; i != 6; ++i) {
                scene s(in, a);
                co_await s.run();
                EXPECT_EQ(s.good(), 50u);
                EXPECT_EQ(static_cast<int>(s.code().value_or(close_code::no_status)),
                          static_cast<int>(a.code));
                co_await sleep_for(3min);
                EXPECT_EQ(route.counters().open, 0u);
                if (i == 0) before = heap();
                auto& least = i < 3 ? early : late;
                if (i != 0) least = std::min<std::int64_t>(least, live_allocations());
                if (i != 0) {
                    EXPECT_LE(s.most_heap() - before, most_growth);
                }
            }
            EXPECT_LE(late - early, most_kept);
            EXPECT_LE(heap() - before, most_growth);
        });
        EXPECT_GE(route.counters().*a.counted, 3u);
        if (::testing::Test::HasFailure()) return;
    }
}

void expect_harmless(const attack& a) {
    expect_harmless(a, echo_handler);
}

/// The header of a masked frame of this length, with nothing behind it.
std::string header_of(std::uint64_t length) {
    std::string bytes = "\x82\xff";
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(length >> shift);
    return bytes + std::string(4, '\0');
}

/// `size` times the same byte, compressed for a frame (RFC 7692 section 7.2.1).
std::string bomb_of(std::size_t size) {
    z_stream z{};
    ::deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    std::string in(1 << 20, 'x');
    std::string out(size / 500 + 4096, '\0');
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    for (std::size_t left = size; left != 0;) {
        const std::size_t n = std::min(left, in.size());
        z.next_in = reinterpret_cast<Bytef*>(in.data());
        z.avail_in = static_cast<uInt>(n);
        left -= n;
        ::deflate(&z, left == 0 ? Z_SYNC_FLUSH : Z_NO_FLUSH);
    }
    out.resize(z.total_out - 4);
    ::deflateEnd(&z);
    return out;
}

/// A message in frames of one byte, without its end.
std::string dribble(std::uint32_t i) {
    return frame(i == 0 ? frame_opcode::text : frame_opcode::continuation, "x", role::client,
                 false);
}

constexpr auto sits_still = [](websocket::connection& ws) -> task<> {
    // The peer that behaves has an echo, the other one a handler that waits.
    if (ws.request().header("X-Attack").empty()) {
        while (auto message = co_await ws.receive()) co_await ws.send(*message);
        co_return;
    }
    co_await as_result(ws.closed());
};

constexpr auto speaks_on = [](websocket::connection& ws) -> task<> {
    if (ws.request().header("X-Attack").empty()) {
        while (auto message = co_await ws.receive()) co_await ws.send(*message);
        co_return;
    }
    const std::string text = repeated(10'000);
    for (;;) co_await ws.send(text);
};

constexpr auto breaks_up = [](websocket::connection& ws) -> task<> {
    if (ws.request().header("X-Attack").empty()) {
        while (auto message = co_await ws.receive()) co_await ws.send(*message);
    }
};

}  // namespace

TEST(websocket_attacks, frames_that_break_a_rule) {
    constexpr auto wrong = close_code::protocol_error;
    expect_harmless({"not masked", 1,
                     [](std::uint32_t) { return frame(frame_opcode::text, "x", role::server); },
                     &counters::protocol_errors, wrong});
    for (const unsigned bit : {0x40U, 0x20U, 0x10U}) {
        static unsigned first = 0;
        first = 0x81U | bit;
        expect_harmless({"a reserved bit", 1,
                         [](std::uint32_t) {
                             std::string bytes = frame(frame_opcode::text, "x");
                             bytes[0] = static_cast<char>(first);
                             return bytes;
                         },
                         &counters::protocol_errors, wrong});
    }
    for (const unsigned code : {3U, 4U, 5U, 6U, 7U, 11U, 12U, 13U, 14U, 15U}) {
        static unsigned first = 0;
        first = 0x80U | code;
        expect_harmless({"a reserved opcode", 1,
                         [](std::uint32_t) {
                             std::string bytes = frame(frame_opcode::text, "x");
                             bytes[0] = static_cast<char>(first);
                             return bytes;
                         },
                         &counters::protocol_errors, wrong});
    }
    expect_harmless({"a ping of 126 bytes", 1,
                     [](std::uint32_t) { return frame(frame_opcode::ping, repeated(126)); },
                     &counters::protocol_errors, wrong});
    expect_harmless(
        {"a ping in two frames", 1,
         [](std::uint32_t) { return frame(frame_opcode::ping, "x", role::client, false); },
         &counters::protocol_errors, wrong});
    expect_harmless({"a continuation of nothing", 1,
                     [](std::uint32_t) { return frame(frame_opcode::continuation, "x"); },
                     &counters::protocol_errors, wrong});
    expect_harmless({"a close code that may not be sent", 1,
                     [](std::uint32_t) { return close_frame(static_cast<close_code>(1005)); },
                     &counters::protocol_errors, wrong});
    expect_harmless({"a close frame of one byte", 1,
                     [](std::uint32_t) { return frame(frame_opcode::close, "x"); },
                     &counters::protocol_errors, wrong});
}

TEST(websocket_attacks, lengths_that_nobody_can_mean) {
    expect_harmless({"a gigabyte", 1, [](std::uint32_t) { return header_of(1 << 30); },
                     &counters::message_too_big, close_code::message_too_big});
    expect_harmless({"63 bits", 1, [](std::uint32_t) { return header_of(INT64_MAX); },
                     &counters::message_too_big, close_code::message_too_big});
    expect_harmless({"64 bits", 1, [](std::uint32_t) { return header_of(UINT64_MAX); },
                     &counters::protocol_errors, close_code::protocol_error});
    expect_harmless({"fragments whose lengths overflow", 3,
                     [](std::uint32_t i) {
                         if (i != 0) {
                             std::string bytes = header_of(INT64_MAX);
                             bytes[0] = '\0';
                             return bytes;
                         }
                         return frame(frame_opcode::binary, "x", role::client, false);
                     },
                     &counters::message_too_big, close_code::message_too_big});
}

TEST(websocket_attacks, fragments_without_an_end) {
    expect_harmless({"of one byte", 3000, &dribble, &counters::too_many_fragments,
                     close_code::policy_violation});
    expect_harmless({"of no byte", 3000,
                     [](std::uint32_t i) {
                         return frame(i == 0 ? frame_opcode::text : frame_opcode::continuation, "",
                                      role::client, false);
                     },
                     &counters::too_many_fragments, close_code::policy_violation});
    expect_harmless({"of many bytes", 100,
                     [](std::uint32_t i) {
                         return frame(i == 0 ? frame_opcode::text : frame_opcode::continuation,
                                      repeated(60'000), role::client, false);
                     },
                     &counters::message_too_big, close_code::message_too_big});
}

TEST(websocket_attacks, messages_of_one_byte_and_a_handler_that_does_not_receive) {
    // It is not read on: what has come waits in one block, and the peer waits, until it is idle.
    websocket::route_options o;
    o.timeouts.idle = 10s;
    o.timeouts.ping = 3s;
    expect_harmless({"messages of one byte", 50'000,
                     [](std::uint32_t) { return frame(frame_opcode::text, "x"); }, &counters::lost,
                     close_code::no_status, true, "X-Attack: 1\r\n", o, 1s},
                    sits_still);
}

TEST(websocket_attacks, pings_without_an_end) {
    websocket::route_options o;
    o.timeouts.write = 5s;
    expect_harmless({"whose pongs nobody reads",
                     20'000,
                     [](std::uint32_t) { return frame(frame_opcode::ping, repeated(125)); },
                     &counters::pongs_merged,
                     close_code::no_status,
                     false,
                     {},
                     o,
                     10s});
}

TEST(websocket_attacks, bombs_of_deflate) {
    websocket::route_options o;
    o.compression.mode = websocket::compression_mode::with_context;
    static const std::string bomb = bomb_of(200 * mib);
    ASSERT_LT(bomb.size(), 300'000U);
    const std::string offer = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    expect_harmless(
        {"in one frame", 1,
         [](std::uint32_t) { return frame(frame_opcode::text, bomb, role::client, true, true); },
         &counters::message_too_big, close_code::message_too_big, true, offer, o});
    expect_harmless({"in many frames", 200,
                     [](std::uint32_t i) {
                         const std::size_t step = bomb.size() / 200 + 1;
                         const std::string part =
                             bomb.substr(std::min(bomb.size(), i * step), step);
                         return i == 0
                                    ? frame(frame_opcode::text, part, role::client, false, true)
                                    : frame(frame_opcode::continuation, part, role::client, false);
                     },
                     &counters::message_too_big, close_code::message_too_big, true, offer, o});
    expect_harmless({"that are none", 1,
                     [](std::uint32_t) {
                         return frame(frame_opcode::text, repeated(100, '\xff'), role::client, true,
                                      true);
                     },
                     &counters::invalid_data, close_code::invalid_data, true, offer, o});
}

TEST(websocket_attacks, text_that_is_no_utf8_wherever_it_is_cut) {
    static std::string text;
    static std::size_t cut = 0;
    for (const char* wrong : {"\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "\xce", "\xf0\x9f"}) {
        text = std::string("boat ") + wrong;
        for (cut = 0; cut <= text.size(); ++cut) {
            expect_harmless({wrong, 2,
                             [](std::uint32_t i) {
                                 if (i == 0) {
                                     return frame(frame_opcode::text, text.substr(0, cut),
                                                  role::client, false);
                                 }
                                 return frame(frame_opcode::continuation, text.substr(cut));
                             },
                             &counters::invalid_data, close_code::invalid_data});
        }
    }
}

TEST(websocket_attacks, peers_that_do_not_respond_to_a_close_frame) {
    expect_harmless({"silent",
                     1,
                     [](std::uint32_t) { return frame(frame_opcode::text, "x"); },
                     &counters::close_timeouts,
                     close_code::normal,
                     true,
                     "X-Attack: 1\r\n",
                     {},
                     10s},
                    breaks_up);
    // Frames that it still sends do not put the end off.
    expect_harmless({"talking on",
                     100,
                     [](std::uint32_t) { return frame(frame_opcode::text, "x"); },
                     &counters::close_timeouts,
                     close_code::normal,
                     true,
                     "X-Attack: 1\r\n",
                     {},
                     10s},
                    breaks_up);
}

TEST(websocket_attacks, a_reader_that_stops) {
    websocket::route_options o;
    o.timeouts.write = 5s;
    expect_harmless(
        {"a reader that stops", 1, [](std::uint32_t) { return frame(frame_opcode::text, "x"); },
         &counters::write_timeouts, close_code::no_status, false, "X-Attack: 1\r\n", o, 15s},
        speaks_on);
}

// ---- handshakes

namespace {

/// Sends bytes, and gives all that comes back.
std::string told(std::string bytes) {
    http::router routes;
    const auto route = websocket::route(routes, "/ws", echo_handler);
    routes.get("/secret", [](http::request&) { return http::response("secret"); });
    chat_world w(1, routes);
    std::string all;
    w.run([&](chat_world& in) -> task<> {
        peer p = co_await in.in.connect();
        co_await p.send(bytes);
        const auto reading = [&]() -> task<> { all = co_await p.read_to_end(); };
        co_await as_result(with_timeout(30s, reading));
        if (all.empty()) all = p.pending();
        p.close();
    });
    EXPECT_EQ(route.counters().open, 0U);
    return all;
}

}  // namespace

TEST(websocket_attacks, the_body_of_an_upgrade_is_no_frame) {
    // RFC 9110 section 7.8: the request ends before the other protocol begins.
    const std::string hidden = frame(frame_opcode::text, "hidden");
    const std::string behind =
        frame(frame_opcode::text, "behind") + close_frame(close_code::normal);
    const std::string size = std::to_string(hidden.size());
    const std::string bodies[] = {
        handshake("/ws", "Content-Length: " + size + "\r\n") + hidden + behind,
        handshake("/ws", "Transfer-Encoding: chunked\r\n") + "c\r\n" + hidden + "\r\n0\r\n\r\n" +
            behind,
        handshake("/ws", "Content-Length: 0\r\n") + behind,
    };
    ASSERT_EQ(hidden.size(), 0xcU);
    for (const std::string& bytes : bodies) {
        const std::string all = told(bytes);
        EXPECT_TRUE(all.starts_with("HTTP/1.1 101 ")) << all;
        EXPECT_EQ(all.find("hidden"), std::string::npos) << all;
        EXPECT_NE(all.find("behind"), std::string::npos) << all;
    }
    // Nobody knows which of two lengths is meant, and no body may be without an end.
    const std::string both =
        told(handshake("/ws", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n") + "0\r\n\r\n" +
             behind);
    EXPECT_TRUE(both.starts_with("HTTP/1.1 400 ")) << both;
    const std::string endless =
        told(handshake("/ws", "Content-Length: 1000000\r\n") + repeated(1'000'000));
    EXPECT_FALSE(endless.starts_with("HTTP/1.1 101 ")) << endless.substr(0, 300);
}

TEST(websocket_attacks, no_request_is_smuggled_through_an_upgrade) {
    const std::string smuggled = "GET /secret HTTP/1.1\r\nHost: x\r\n\r\n";
    // Behind 101 everything is frames: the text of a request breaks the rules of those.
    const std::string accepted = told(handshake("/ws") + smuggled);
    EXPECT_TRUE(accepted.starts_with("HTTP/1.1 101 ")) << accepted;
    EXPECT_EQ(accepted.find("secret"), std::string::npos) << accepted;
    EXPECT_EQ(close_in(accepted.substr(accepted.find("\r\n\r\n") + 4)), close_code::protocol_error);
    // Where it is refused, a proxy that looks at no status takes the connection for a tunnel, and
    // what follows for frames: it must not be taken for a request here.
    std::string refused = handshake("/ws") + smuggled;
    refused.replace(refused.find("Version: 13"), 11, "Version: 99");
    const std::string all = told(refused);
    EXPECT_TRUE(all.starts_with("HTTP/1.1 426 ")) << all;
    EXPECT_EQ(all.find("HTTP/1.1 200 "), std::string::npos) << all;
}
