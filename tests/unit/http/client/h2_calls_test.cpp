// Calls over HTTP/2, in a simulated network, with a server of which the test decides each step.

#include "support/h2_script.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using h2_code = http::h2::error_code;
using connection = h2_script_connection;
using request = h2_script_stream;

http::client_options over_h2() {
    http::client_options o;
    o.proxy_from_environment = false;
    o.http_version = http::version_choice::http_2;
    return o;
}

/// Runs `body(peer, client)` beside a peer, once for each of some seeds.
template <class F>
void with_peer(F body, http::pool_options p = {}, http::client_options o = over_h2(),
               std::uint64_t seeds = 5) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        simulation_options options;
        options.seed = seed;
        simulation sim(options);
        sim.run([&]() -> task<> {
            h2_script_server peer;
            peer.on_end = [](connection& c, request& r) { c.respond(r, r.method + ' ' + r.path); };
            http::client client(o, p);
            bool finished = false;
            const auto block = [&](task_group& group) -> task<> {
                group.spawn([&] { return peer.serve(group); });
                co_await body(peer, client);
                finished = true;
                group.cancel();
            };
            const auto ended = co_await as_result(with_task_group(block));
            EXPECT_TRUE(finished) << (ended ? error() : ended.error());
        });
        EXPECT_EQ(sim.backend().open_descriptors(), 0u);
    }
}

TEST(client_h2, gets_and_posts_over_one_connection) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        const auto got = co_await client.get(peer.url("/a?b=c")).full();
        EXPECT_EQ(got.body, "GET /a?b=c");
        EXPECT_EQ(got.info.version, http::version::http_2);
        EXPECT_EQ(got.info.stream, 1U);
        EXPECT_FALSE(got.info.reused);
        const auto posted = co_await client.post(peer.url("/p")).body("content").full();
        EXPECT_EQ(posted.body, "POST /p");
        EXPECT_EQ(posted.info.stream, 3U);
        EXPECT_TRUE(posted.info.reused);
        EXPECT_EQ(peer.connections.size(), 1U);
        const request& r = *peer.connections[0]->streams[1];
        EXPECT_EQ(r.body, "content");
        EXPECT_EQ(r.fields.at("content-length"), "7");
        EXPECT_EQ(r.fields.count("host"), 0U);
        EXPECT_EQ("http://" + r.authority + '/', peer.url());
        EXPECT_EQ(client.statistics().opened, 1U);
    });
}

TEST(client_h2, makes_many_calls_at_once_over_one_connection) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        unsigned good = 0;
        const auto one = [&]() -> task<> {
            const auto r = co_await client.get(peer.url("/x")).full();
            if (r.body == "GET /x") ++good;
        };
        const auto block = [&](task_group& group) -> task<> {
            for (int i = 0; i != 50; ++i) group.spawn(one);
            co_return;
        };
        co_await with_task_group(block);
        EXPECT_EQ(good, 50U);
        EXPECT_EQ(peer.connections.size(), 1U);
    });
}

TEST(client_h2, opens_another_connection_when_places_run_out) {
    http::pool_options p;
    p.streams = 2;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            std::vector<std::pair<connection*, request*>> held;
            peer.on_end = [&](connection& c, request& r) { held.emplace_back(&c, &r); };
            unsigned good = 0;
            const auto one = [&]() -> task<> {
                if ((co_await client.get(peer.url()).full()).ok()) ++good;
            };
            const auto block = [&](task_group& group) -> task<> {
                for (int i = 0; i != 5; ++i) group.spawn(one);
                while (held.size() != 5) co_await sleep_for(1ms);
                for (const auto& [c, r] : held) c->respond(*r, "x");
            };
            co_await with_task_group(block);
            EXPECT_EQ(good, 5U);
            EXPECT_EQ(peer.connections.size(), 3U);
        },
        p);
}

TEST(client_h2, sends_bodies_as_far_as_windows_allow) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        const std::string large(300'000, 'u');
        const auto whole = co_await client.post(peer.url()).body(std::string(large)).full();
        EXPECT_TRUE(whole.ok());
        EXPECT_EQ(peer.connections[0]->streams[0]->body, large);
        const auto write = [&large](http::body_writer& out) -> task<> {
            for (int i = 0; i != 3; ++i) co_await out.write(large);
        };
        const auto streamed =
            co_await client.put(peer.url()).body(http::body::stream(write)).full();
        EXPECT_TRUE(streamed.ok());
        EXPECT_EQ(peer.connections[0]->streams[1]->body, large + large + large);
        EXPECT_EQ(peer.connections[0]->streams[1]->fields.count("transfer-encoding"), 0U);
    });
}

TEST(client_h2, reads_large_bodies_and_gives_windows_back_as_it_reads) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        const std::string large(1'000'000, 'd');
        peer.on_end = [&](connection& c, request& r) { c.respond(r, large); };
        auto slow = co_await client.get(peer.url("/slow"));
        co_await sleep_for(1s);
        // Nobody has read: no more than the window has come, and others are served.
        EXPECT_EQ((co_await client.get(peer.url("/other")).full()).body, large);
        std::string got;
        for (;;) {
            const std::string_view piece = co_await slow.read();
            if (piece.empty()) break;
            got += piece;
        }
        EXPECT_EQ(got, large);
        EXPECT_EQ(peer.connections.size(), 1U);
    });
}

TEST(client_h2, reads_interim_responses_and_trailers_and_no_bodies) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_end = [](connection& c, request& r) {
            if (r.path == "/trailers") {
                c.respond(r, 103, {{"link", "</a>"}}, {}, false);
                c.respond(r, 200, {}, {}, false);
                c.send(r, "content", false, [&c, &r] { c.send_trailers(r, {{"x-sum", "7"}}); });
            } else if (r.path == "/204") {
                c.respond(r, 204, {});
            } else {
                c.respond(r, 200, {{"content-length", "12"}});
            }
        };
        const auto whole = co_await client.get(peer.url("/trailers")).full();
        EXPECT_EQ(whole.body, "content");
        EXPECT_EQ(whole.trailers.get("x-sum"), "7");
        const auto nothing = co_await client.get(peer.url("/204")).full();
        EXPECT_EQ(nothing.status, http::status::no_content);
        const auto head = co_await client.head(peer.url("/head"));
        EXPECT_EQ(head.header("content-length"), "12");
        EXPECT_EQ(peer.connections.size(), 1U);
    });
}

TEST(client_h2, resets_what_is_cancelled_and_goes_on) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_end = [](connection& c, request& r) {
            if (r.path == "/fast") c.respond(r, "x");
            if (r.path == "/begun") c.respond(r, 200, {}, "part", false);
        };
        const auto call = [&] { return client.get(peer.url("/never")).full(); };
        const auto late = co_await as_result(with_timeout(300ms, call));
        EXPECT_FALSE(late);
        {
            auto begun = co_await client.get(peer.url("/begun"));
            EXPECT_EQ(co_await begun.read(), "part");
        }
        const auto limited =
            co_await as_result(client.get(peer.url("/never")).timeout(300ms).full());
        EXPECT_TRUE(!limited && limited.error() == std::errc::timed_out);
        EXPECT_EQ((co_await client.get(peer.url("/fast")).full()).body, "x");
        co_await sleep_for(100ms);
        EXPECT_EQ(peer.connections.size(), 1U);
        for (const std::size_t i : {0U, 1U, 2U}) {
            EXPECT_EQ(peer.connections[0]->streams[i]->reset_by_client, h2_code::cancel) << i;
        }
        EXPECT_EQ(peer.connections[0]->session().streams(), 0U);
    });
}

TEST(client_h2, takes_no_further_call_on_a_connection_that_has_reset_many) {
    http::pool_options p;
    p.h2.resets = 3;
    p.h2.resets_per_second = 1;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            peer.on_end = [](connection& c, request& r) {
                if (r.path == "/fast") c.respond(r, "x");
            };
            const auto give_up = [&]() -> task<> {
                const auto call = [&] { return client.get(peer.url("/never")).full(); };
                co_await as_result(with_timeout(50ms, call));
            };
            // As many as the rate allows wear nothing out.
            for (int i = 0; i != 6; ++i) {
                co_await give_up();
                co_await sleep_for(1s);
            }
            EXPECT_EQ(peer.connections.size(), 1U);
            std::optional<std::string> slow;
            connection* first = nullptr;
            request* held = nullptr;
            peer.on_end = [&](connection& c, request& r) {
                if (r.path == "/fast") c.respond(r, "x");
                if (r.path != "/slow") return;
                first = &c;
                held = &r;
            };
            const auto block = [&](task_group& group) -> task<> {
                group.spawn([&]() -> task<> {
                    slow = (co_await client.get(peer.url("/slow")).full()).body;
                });
                while (held == nullptr) co_await sleep_for(1ms);
                for (int i = 0; i != 5; ++i) co_await give_up();
                EXPECT_EQ((co_await client.get(peer.url("/fast")).full()).body, "x");
                // Those that it has it carries to their end.
                first->respond(*held, "slowly");
            };
            co_await with_task_group(block);
            EXPECT_EQ(slow, "slowly");
            EXPECT_EQ(peer.connections.size(), 2U);
            co_await sleep_for(100ms);
            EXPECT_EQ(client.statistics().connections, 1U) << "the worn one was closed";
        },
        p);
}

TEST(client_h2, goes_elsewhere_with_what_a_server_left_unprocessed) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        unsigned refused = 0;
        peer.on_end = [&](connection& c, request& r) {
            if (&c == peer.connections[0].get() && r.path == "/goaway") {
                c.goaway(r.id() - 2, h2_code::no_error);
            } else if (r.path == "/refused" && refused++ == 0) {
                c.reset(r, h2_code::refused_stream);
            } else {
                c.respond(r, "done");
            }
        };
        // POST, too: nothing was processed.
        EXPECT_EQ((co_await client.post(peer.url("/refused")).body("x").full()).body, "done");
        const auto moved = co_await client.post(peer.url("/goaway")).body("x").full();
        EXPECT_EQ(moved.body, "done");
        EXPECT_EQ(moved.info.attempts, 2U);
        EXPECT_EQ(peer.connections.size(), 2U);
        EXPECT_EQ(client.statistics().retries, 0U);
    });
}

TEST(client_h2, gives_up_on_a_server_that_refuses_everything) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        unsigned asked = 0;
        peer.on_end = [&](connection& c, request& r) {
            ++asked;
            c.reset(r, h2_code::refused_stream);
        };
        const auto r = co_await as_result(client.get(peer.url()).full());
        EXPECT_TRUE(!r && r.error().code() == make_error_code(h2_code::refused_stream));
        EXPECT_EQ(asked, 4U);
    });
}

TEST(client_h2, lets_go_of_a_connection_whose_server_goes_away) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_end = [&](connection& c, request& r) {
            // Calls under way are completed.
            c.goaway(r.id(), h2_code::no_error);
            c.respond(r, "last");
        };
        EXPECT_EQ((co_await client.get(peer.url()).full()).body, "last");
        EXPECT_EQ((co_await client.get(peer.url()).full()).body, "last");
        EXPECT_EQ(peer.connections.size(), 2U);
        co_await sleep_for(100ms);
        EXPECT_EQ(client.statistics().connections, 0U);
    });
}

TEST(client_h2, speaks_nothing_else_to_servers_that_want_http_1_if_told_so) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_end = [](connection& c, request& r) { c.reset(r, h2_code::http_1_1_required); };
        const auto r = co_await as_result(client.get(peer.url()).full());
        EXPECT_TRUE(!r && r.error().code() == make_error_code(h2_code::http_1_1_required));
        EXPECT_EQ(peer.connections.size(), 1u);
    });
}

TEST(client_h2, asks_again_on_a_connection_of_its_own_what_was_misdirected) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        unsigned misdirected = 0;
        peer.on_end = [&](connection& c, request& r) {
            const bool wrong = &c == peer.connections[0].get() && c.streams.size() == 2;
            if (wrong || r.path == "/always") {
                ++misdirected;
                c.respond(r, 421, {}, "not here");
            } else {
                c.respond(r, "here");
            }
        };
        // A new connection means what it says.
        const auto first = co_await client.get(peer.url("/always")).full();
        EXPECT_EQ(static_cast<unsigned>(first.status), 421u);
        EXPECT_EQ(misdirected, 1u);
        const auto second = co_await client.post(peer.url("/x")).body("again").full();
        EXPECT_EQ(second.body, "here");
        EXPECT_EQ(misdirected, 2u);
        EXPECT_EQ(peer.connections.size(), 2u);
        EXPECT_EQ(peer.connections[1]->streams.at(0)->body, "again");
        EXPECT_EQ(client.statistics().retries, 0u);
    });
}

TEST(client_h2, asks_whether_a_silent_server_is_still_there) {
    http::pool_options p;
    p.h2.ping_after = 5s;
    p.h2.ping_timeout = 2s;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            loop& l = *loop::current();
            peer.on_end = [](connection& c, request& r) {
                if (r.path == "/silent") c.falls_silent = true;
                if (r.path == "/quick") c.respond(r, "quick");
            };
            // One that responds to PING may take its time.
            auto slow = client.get(peer.url("/slow")).timeout(60s);
            const time_point begun = l.now();
            const auto late = co_await as_result(slow);
            EXPECT_TRUE(!late && late.error() == std::errc::timed_out);
            EXPECT_GE(l.now() - begun, 60s);
            EXPECT_EQ(client.statistics().h2.silent, 0u);
            // Nor is one asked that has nothing to do.
            EXPECT_EQ((co_await client.get(peer.url("/quick")).full()).body, "quick");
            co_await sleep_for(20s);
            EXPECT_EQ(client.statistics().idle, 1u);

            const time_point again = l.now();
            const auto lost = co_await as_result(client.get(peer.url("/silent")).full());
            EXPECT_TRUE(!lost && lost.error() == std::errc::timed_out) << lost.error();
            EXPECT_GE(l.now() - again, 7s);
            EXPECT_LE(l.now() - again, 8s);
            EXPECT_EQ(client.statistics().h2.silent, 1u);
            EXPECT_EQ(client.statistics().connections, 0u);
            EXPECT_EQ((co_await client.get(peer.url("/quick")).full()).body, "quick");
        },
        p);
}

TEST(client_h2, may_ask_idle_connections_too) {
    http::pool_options p;
    p.h2.ping_after = 5s;
    p.h2.ping_timeout = 2s;
    p.h2.ping_idle = true;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            co_await client.get(peer.url()).full();
            co_await sleep_for(1s);
            const unsigned before = peer.connections[0]->blocks;
            co_await sleep_for(20s);
            EXPECT_EQ(client.statistics().idle, 1u);
            EXPECT_GE(peer.connections[0]->blocks, before + 3);
            peer.connections[0]->falls_silent = true;
            co_await sleep_for(8s);
            EXPECT_EQ(client.statistics().connections, 0u);
            EXPECT_EQ(client.statistics().h2.silent, 1u);
        },
        p);
}

TEST(client_h2, says_why_a_stream_or_connection_ended) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_end = [](connection& c, request& r) {
            if (r.path == "/reset") c.reset(r, h2_code::internal_error);
            if (r.path == "/broken") c.send_raw(std::string("\0\0\1\6\0\0\0\0\0x", 10));
            if (r.path == "/cut") c.close();
        };
        const auto reset = co_await as_result(client.get(peer.url("/reset")).full());
        EXPECT_TRUE(!reset && reset.error().code() == make_error_code(h2_code::internal_error));
        EXPECT_EQ(peer.connections.size(), 1U);
        const auto broken = co_await as_result(client.get(peer.url("/broken")).full());
        EXPECT_TRUE(!broken && broken.error().code() == make_error_code(h2_code::frame_size_error));
        const auto cut = co_await as_result(client.post(peer.url("/cut")).body("x").full());
        EXPECT_TRUE(!cut && (cut.error() == errc::end_of_stream ||
                             cut.error() == std::errc::connection_reset));
        EXPECT_EQ(client.statistics().connections, 0U);
    });
}

TEST(client_h2, retries_what_is_idempotent_when_a_connection_that_was_used_is_lost) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        bool cut = false;
        peer.on_end = [&](connection& c, request& r) {
            if (r.path == "/second" && !std::exchange(cut, true)) {
                c.close();
            } else {
                c.respond(r, r.path);
            }
        };
        co_await client.get(peer.url("/first")).full();
        EXPECT_EQ((co_await client.get(peer.url("/second")).full()).body, "/second");
        EXPECT_EQ(peer.connections.size(), 2U);
    });
}

TEST(client_h2, takes_a_refusal_amid_the_body) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_head = [&](connection& c, request& r) {
            c.consumes = false;
            c.respond(r, 413, {}, "too large");
            if (r.path == "/reset") c.reset(r, h2_code::no_error);
        };
        peer.on_end = {};
        const auto kept =
            co_await client.post(peer.url("/")).body(std::string(400'000, 'x')).full();
        EXPECT_EQ(kept.status, http::status::content_too_large);
        EXPECT_EQ(kept.body, "too large");
    });
}

TEST(client_h2, closes_idle_connections_and_says_goodbye) {
    http::pool_options p;
    p.idle_time = 1s;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            co_await client.get(peer.url()).full();
            EXPECT_EQ(client.statistics().idle, 1U);
            co_await sleep_for(2s);
            EXPECT_EQ(client.statistics().connections, 0U);
            EXPECT_EQ(peer.connections[0]->said_goodbye, h2_code::no_error);
        },
        p);
}

/// A frame as it is on the wire.
std::string frame(http::h2::frame_type type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
    std::string all(http::h2::frame_header::size, '\0');
    const auto size = static_cast<std::uint32_t>(payload.size());
    http::h2::write_frame_header(all.data(), {size, type, flags, stream});
    return all.append(payload);
}

TEST(client_h2, ends_a_connection_whose_server_floods_or_plays_games) {
    using http::h2::frame_type;
    using http::h2::flag::end_headers;
    const struct {
        const char* name;
        std::string bytes;
        h2_code code;
    } games[] = {
        {"push", frame(frame_type::push_promise, end_headers, 1, std::string("\0\0\0\2", 4)),
         h2_code::protocol_error},
        {"a stream of its own", frame(frame_type::headers, end_headers, 2, "\x88"),
         h2_code::protocol_error},
        {"a window beyond all",
         frame(frame_type::window_update, 0, 0, std::string("\x7f\xff\xff\xff", 4)),
         h2_code::flow_control_error},
        {"a window of nothing", frame(frame_type::window_update, 0, 0, std::string(4, '\0')),
         h2_code::protocol_error},
        // Without content: the header is refused, and a byte behind it might be left unread, which
        // makes the close a reset.
        {"data that nobody asked for", frame(frame_type::data, 0, 7, ""), h2_code::protocol_error},
    };
    const struct {
        const char* name;
        std::string first;
        std::string again;
    } floods[] = {
        {"ping", "", frame(frame_type::ping, 0, 0, "12345678")},
        {"settings", "", frame(frame_type::settings, 0, 0, "")},
        {"continuation", frame(frame_type::headers, 0, 1, "\x88"),
         frame(frame_type::continuation, 0, 1, "")},
        {"unknown frames", "", frame(static_cast<frame_type>(0xbb), 0, 0, "")},
        {"goaway", "", frame(frame_type::goaway, 0, 0, std::string("\x7f\xff\xff\xff\0\0\0\0", 8))},
    };
    std::vector<std::pair<std::string, h2_code>> all;
    for (const auto& g : games) all.emplace_back(g.bytes, g.code);
    for (const auto& f : floods) {
        std::string bytes = f.first;
        for (int i = 0; i != 2'000; ++i) bytes += f.again;
        all.emplace_back(std::move(bytes), h2_code::enhance_your_calm);
    }
    with_peer([&](h2_script_server& peer, http::client& client) -> task<> {
        for (const auto& [bytes, code] : all) {
            peer.on_end = [&](connection& c, request&) { c.send_raw(bytes); };
            const auto r = co_await as_result(client.post(peer.url()).body("x").full());
            EXPECT_TRUE(!r && r.error().code() == make_error_code(code))
                << static_cast<unsigned>(code) << ": " << (r ? error() : r.error());
            co_await sleep_for(100ms);
            // Closing before all of a flood has been read is a reset, which may overtake it.
            if (code != h2_code::enhance_your_calm) {
                EXPECT_EQ(peer.connections.back()->said_goodbye, code);
            }
            EXPECT_EQ(client.statistics().connections, 0U);
        }
        const auto s = client.statistics().h2;
        EXPECT_EQ(s.connections, all.size());
        EXPECT_EQ(s.pings, 1u);
        EXPECT_EQ(s.settings, 1u);
        EXPECT_EQ(s.continuations, 1u);
        EXPECT_EQ(s.idle_frames, 2u);
        EXPECT_GE(s.goaways, 1u);
    });
}

std::string settings(std::uint8_t id, std::uint32_t value) {
    std::string entry{'\0', static_cast<char>(id)};
    for (int shift = 24; shift >= 0; shift -= 8) entry += static_cast<char>(value >> shift);
    return frame(http::h2::frame_type::settings, 0, 0, entry);
}
constexpr std::uint8_t max_concurrent_streams = 3;
constexpr std::uint8_t initial_window_size = 4;
constexpr std::uint8_t header_table_size = 1;

TEST(client_h2, opens_fewer_streams_once_the_server_takes_fewer) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        EXPECT_TRUE((co_await client.get(peer.url()).full()).ok());
        peer.connections[0]->send_raw(settings(max_concurrent_streams, 2));
        co_await sleep_for(100ms);
        std::vector<request*> held;
        std::size_t most = 0;
        unsigned good = 0;
        peer.on_end = [&](connection& c, request& r) {
            if (&c != peer.connections[0].get()) return c.respond(r, "elsewhere");
            held.push_back(&r);
            most = std::max(most, held.size());
        };
        const auto one = [&]() -> task<> {
            if ((co_await client.get(peer.url()).full()).ok()) ++good;
        };
        const auto block = [&](task_group& group) -> task<> {
            for (int i = 0; i != 20; ++i) group.spawn(one);
            while (good != 20) {
                co_await sleep_for(10ms);
                for (request* r : std::exchange(held, {})) peer.connections[0]->respond(*r, "here");
            }
        };
        co_await with_task_group(block);
        EXPECT_EQ(good, 20U);
        EXPECT_EQ(most, 2U);
        for (const auto& c : peer.connections) EXPECT_FALSE(c->said_goodbye);
    });
}

TEST(client_h2, waits_for_a_server_that_takes_no_streams_as_long_as_its_deadline_allows) {
    http::pool_options p;
    p.connections_per_host = 1;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            EXPECT_TRUE((co_await client.get(peer.url()).full()).ok());
            peer.connections[0]->send_raw(settings(max_concurrent_streams, 0));
            co_await sleep_for(100ms);
            unsigned good = 0;
            const auto one = [&]() -> task<> {
                if ((co_await client.get(peer.url()).timeout(1min).full()).ok()) ++good;
            };
            const auto block = [&](task_group& group) -> task<> {
                for (int i = 0; i != 5; ++i) group.spawn(one);
                co_await sleep_for(30s);
                EXPECT_EQ(good, 0U);
                peer.connections[0]->send_raw(settings(max_concurrent_streams, 1));
            };
            co_await with_task_group(block);
            EXPECT_EQ(good, 5U);
            peer.connections[0]->send_raw(settings(max_concurrent_streams, 0));
            co_await sleep_for(100ms);
            const auto late = co_await as_result(client.get(peer.url()).timeout(5s).full());
            EXPECT_FALSE(late);
            EXPECT_EQ(late.error(), std::errc::timed_out) << late.error();
        },
        p);
}

// RFC 9113 section 6.9.2: a window may become negative.
TEST(client_h2, sends_on_when_a_window_that_shrank_below_nothing_grows_again) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_head = [](connection& c, request&) {
            c.send_raw(settings(initial_window_size, 1000));
        };
        const std::string large(400'000, 'u');
        const auto grow = [&]() -> task<int> {
            co_await sleep_for(1min);
            connection& c = *peer.connections[0];
            EXPECT_FALSE(c.streams[0]->complete);
            c.send_raw(settings(initial_window_size, 65'535));
            co_await sleep_for(1min);
            co_return 1;
        };
        http::full_response whole;
        const auto get = [&]() -> task<> {
            whole = co_await client.post(peer.url()).body(std::string(large)).full();
        };
        const auto block = [&](task_group& group) -> task<> {
            group.spawn(get);
            co_await grow();
        };
        co_await with_task_group(block);
        EXPECT_TRUE(whole.ok());
        EXPECT_EQ(peer.connections[0]->streams[0]->body, large);
    });
}

TEST(client_h2, compresses_without_a_table_once_the_server_keeps_none) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        for (const std::uint32_t size : {4096U, 0U, 100U, 0U, 4096U}) {
            EXPECT_TRUE((co_await client.get(peer.url("/one")).header("X-A", "1").full()).ok());
            const auto again = co_await client.get(peer.url("/two")).header("X-A", "1").full();
            EXPECT_EQ(again.body, "GET /two");
            peer.connections[0]->send_raw(settings(header_table_size, size));
            co_await sleep_for(100ms);
        }
        EXPECT_EQ(peer.connections.size(), 1U);
    });
}

TEST(client_h2, keeps_to_its_own_limits) {
    // At each of them, and one beyond.
    const auto flood = [](const char* name, http::h2_limits& l, int& wanted) {
        const std::string_view n = name;
        if (n == "pings") wanted = static_cast<int>(l.pings = 7);
        if (n == "settings") wanted = static_cast<int>(l.settings_frames = 5) - 1;
        if (n == "idle_frames") wanted = static_cast<int>(l.idle_frames = 9);
        if (n == "continuations") wanted = static_cast<int>(l.continuations = 3);
    };
    for (const char* name : {"pings", "settings", "idle_frames", "continuations"}) {
        http::pool_options p;
        int allowed = 0;
        flood(name, p.h2.limits, allowed);
        for (const bool beyond : {false, true}) {
            with_peer(
                [&](h2_script_server& peer, http::client& client) -> task<> {
                    using http::h2::frame_type;
                    peer.on_end = [&](connection& c, request& r) {
                        const int n = allowed + (beyond ? 1 : 0);
                        const std::string_view kind = name;
                        std::string bytes;
                        if (kind == "continuations") {
                            bytes = frame(frame_type::headers, 0, r.id(), "\x88");
                            for (int i = 1; i < n; ++i)
                                bytes += frame(frame_type::continuation, 0, r.id(), "");
                            bytes += frame(frame_type::continuation, http::h2::flag::end_headers,
                                           r.id(), "");
                            bytes +=
                                frame(frame_type::data, http::h2::flag::end_stream, r.id(), "fine");
                            c.send_raw(std::move(bytes));
                            return;
                        }
                        for (int i = 0; i != n; ++i) {
                            if (kind == "pings")
                                bytes += frame(frame_type::ping, 0, 0, "12345678");
                            else if (kind == "settings")
                                bytes += frame(frame_type::settings, 0, 0, "");
                            else
                                bytes += frame(static_cast<frame_type>(0xbb), 0, 0, "");
                        }
                        c.send_raw(std::move(bytes));
                        c.respond(r, "fine");
                    };
                    const auto r = co_await as_result(client.get(peer.url()).full());
                    co_await sleep_for(100ms);
                    const auto s = client.statistics().h2;
                    const std::uint64_t counted =
                        s.pings + s.settings + s.idle_frames + s.continuations;
                    // The response may have gone first.
                    EXPECT_TRUE(beyond || (r && r->body == "fine")) << name;
                    const std::string limit = std::string("h2_limits::") + name;
                    EXPECT_TRUE(r || r.error().message().find(limit) != std::string::npos)
                        << r.error();
                    EXPECT_EQ(client.statistics().connections, beyond ? 0u : 1u) << name;
                    EXPECT_EQ(counted, beyond ? 1u : 0u) << name;
                },
                p, over_h2(), 1);
        }
    }
}

TEST(client_h2, tells_a_server_of_its_windows_and_keeps_to_them) {
    http::pool_options p;
    p.h2.limits.stream_window = p.h2.limits.max_stream_window = 20'000;
    p.h2.limits.connection_window = 100'000;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            const std::string large(200'000, 'w');
            peer.on_end = [&](connection& c, request& r) { c.respond(r, large); };
            co_await client.get(peer.url()).full();
            auto held = co_await client.get(peer.url());
            co_await sleep_for(1s);
            EXPECT_EQ(peer.connections[0]->streams[1]->unsent(), large.size() - 20'000);
            EXPECT_EQ(co_await held.text(), large);
        },
        p, over_h2(), 1);
}

TEST(client_h2, gives_the_window_of_the_connection_back_whatever_becomes_of_a_body) {
    http::pool_options p;
    p.h2.resets = 1000;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            peer.on_end = [](connection& c, request& r) {
                c.respond(r, std::string(r.path == "/small" ? 8'000 : 60'000, 'b'));
            };
            // More than the 16 MiB of the connection, of each kind.
            for (int i = 0; i != 300; ++i) {
                const auto dropped = co_await client.get(peer.url("/large"));
                EXPECT_TRUE(dropped.ok());
            }
            for (int i = 0; i != 4'000; ++i) {
                const auto whole = co_await client.get(peer.url("/small")).full();
                EXPECT_EQ(whole.body.size(), 8'000U);
            }
            EXPECT_EQ(peer.connections.size(), 1U);
        },
        p, over_h2(), 1);
}

TEST(client_h2, counts_interim_responses) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_end = [](connection& c, request& r) {
            for (int i = 0; i != 17; ++i) c.respond(r, 102, {}, {}, false);
            c.respond(r, "late");
        };
        const auto r = co_await as_result(client.get(peer.url()).full());
        EXPECT_FALSE(r);
    });
}

TEST(client_h2, keeps_to_the_limits_of_a_head) {
    http::client_options o = over_h2();
    o.field_limit = 5;
    o.head_limit = 1000;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            std::vector<http::field> fields(5, {"a", "1"});
            peer.on_end = [&fields](connection& c, request& r) { c.respond(r, 200, fields); };
            EXPECT_TRUE(co_await as_result(client.get(peer.url()).full()));
            fields.push_back({"f", "1"});
            const auto many = co_await as_result(client.get(peer.url()).full());
            EXPECT_EQ(many.error(), errc::limit_exceeded);
            EXPECT_THAT(many.error().message(), HasSubstr("client_options.field_limit"));
            const std::string large(1000, 'x');
            fields.assign(1, {"a", large});
            const auto bytes = co_await as_result(client.get(peer.url()).full());
            EXPECT_EQ(bytes.error(), errc::limit_exceeded);
            EXPECT_THAT(bytes.error().message(), HasSubstr("client_options.head_limit"));
        },
        {}, o);
}

/// Calls a server with TLS, twenty at once; gives how many connections it took, and the version.
std::pair<std::uint64_t, http::version> over_tls(http::http_versions served,
                                                 http::version_choice wanted) {
    std::pair<std::uint64_t, http::version> seen;
    simulation sim;
    sim.run([&]() -> task<> {
        local_server_options o;
        o.self_signed = true;
        o.versions = served;
        local_server server(*loop::current(), [](http::request&) { return "hello"; }, o);
        http::client_options c;
        c.proxy_from_environment = false;
        c.insecure = true;
        c.http_version = wanted;
        http::client client(c);
        const auto call = [&]() -> task<> {
            const auto r = co_await as_result(client.get(server.url()).full());
            EXPECT_TRUE(r && r->body == "hello");
            if (r) seen.second = r->info.version;
        };
        const auto block = [&](task_group& group) -> task<> {
            for (unsigned i = 0; i != 20; ++i) group.spawn(call);
            co_return;
        };
        co_await with_task_group(block);
        seen.first = server.counters().connections;
        server.stop();
        co_await server.stopped();
    });
    EXPECT_EQ(sim.backend().open_descriptors(), 0u);
    return seen;
}

TEST(client_h2, is_what_tls_agrees_on) {
    using enum http::http_versions;
    using choice = http::version_choice;
    EXPECT_EQ(over_tls(both, choice::automatic),
              std::pair(std::uint64_t{1}, http::version::http_2));
    EXPECT_EQ(over_tls(both, choice::http_2), std::pair(std::uint64_t{1}, http::version::http_2));
    EXPECT_EQ(over_tls(both, choice::http_1_1).second, http::version::http_1_1);
    const auto older = over_tls(http1, choice::automatic);
    EXPECT_EQ(older.second, http::version::http_1_1);
    EXPECT_EQ(older.first, 20U);
}

}  // namespace
}  // namespace coracle::testing
