// Calls over HTTP/2, in a simulated network, with a server of which the test decides each step.

#include "support/h2_script_calls.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>
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

TEST(client_h2, asks_for_the_host_that_the_caller_names) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        co_await client.get(peer.url("/")).header("Host", "other.test:81").full();
        const request& r = *peer.connections[0]->streams[0];
        EXPECT_EQ(r.authority, "other.test:81");
        EXPECT_EQ(r.fields.count("host"), 0U);
    });
}

TEST(client_h2, sends_the_body_at_once_for_a_100_that_comes_with_others) {
    http::client_options o = over_h2();
    o.expect_continue_above = 1;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            peer.on_head = [](connection& c, request& r) {
                c.respond(r, 103, {{"link", "</a>"}}, {}, false);
                c.respond(r, 100, {}, {}, false);
            };
            const time_point begun = loop::current()->now();
            const auto got = co_await client.post(peer.url("/p")).body("content").full();
            EXPECT_EQ(got.body, "POST /p");
            // Without one it would wait for a second.
            EXPECT_LT(loop::current()->now() - begun, 900ms);
        },
        {}, o, 1);
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

TEST(client_h2, takes_no_content_for_one_whose_end_is_late) {
    http::client_options o = over_h2();
    o.body_limit = 1000;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            peer.on_end = [](connection& c, request& r) {
                const unsigned code = r.path == "/304" ? 304 : r.path == "/204" ? 204 : 200;
                std::vector<http::field> fields = {{"content-encoding", "gzip"}};
                if (code != 204) fields.push_back({"content-length", "1000000"});
                c.respond(r, code, fields, {}, false);
                spawn([&c, &r]() -> task<> {
                    co_await sleep_for(10ms);
                    c.send(r, {}, true);
                });
            };
            for (const char* path : {"/200", "/304", "/204"}) {
                const bool is_head = std::string_view(path) == "/200";
                const std::string url = peer.url(path);
                auto calling = is_head ? client.head(url) : client.get(url);
                auto r = co_await std::move(calling);
                EXPECT_EQ(r.header("Content-Encoding"), "gzip") << path;
                EXPECT_EQ(r.header("Content-Length"), is_head || path[1] == '3' ? "1000000" : "");
                auto reading = r.text();
                const std::string body = co_await std::move(reading);
                EXPECT_EQ(body, "");
            }
            EXPECT_EQ(peer.connections.size(), 1U);
            for (const auto& r : peer.connections[0]->streams) EXPECT_FALSE(r->reset_by_client);
        },
        {}, o);
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

TEST(client_h2, goes_elsewhere_though_the_connection_is_lost_right_behind_the_goaway) {
    for (const char* method : {"GET", "POST"}) {
        with_peer([method](h2_script_server& peer, http::client& client) -> task<> {
            peer.on_end = [&](connection& c, request& r) {
                if (&c != peer.connections[0].get() || r.path == "/first") {
                    return c.respond(r, "done");
                }
                c.goaway(r.id() - 2, h2_code::no_error);
                // A ping that is too short.
                c.send_raw(std::string("\0\0\1\6\0\0\0\0\0x", 10));
            };
            EXPECT_EQ((co_await client.get(peer.url("/first")).full()).body, "done");
            auto calling = client.request(method, peer.url("/moved")).full();
            const auto moved = co_await as_result(calling);
            EXPECT_TRUE(moved) << moved.error();
            if (!moved) co_return;
            EXPECT_EQ(moved->body, "done");
            EXPECT_EQ(moved->info.attempts, 2U);
            EXPECT_EQ(client.statistics().retries, 0U);
        });
    }
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

TEST(client_h2, sends_the_second_copy_of_a_call_on_another_connection) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_end = [&peer](connection& c, request& r) {
            const bool is_dead = &c == peer.connections[0].get() && r.path == "/hedged";
            if (is_dead)
                c.falls_silent = true;
            else
                c.respond(r, "here");
        };
        EXPECT_EQ((co_await client.get(peer.url("/first")).full()).body, "here");
        http::client_options o = client.defaults();
        o.retry.hedge_after = 200ms;
        const time_point begun = loop::current()->now();
        const auto ask = [&]() -> task<> {
            const auto got = co_await client.get(peer.url("/hedged")).options(o).full();
            EXPECT_EQ(got.body, "here");
        };
        // One of the second copies opens a connection, for which the other waits.
        co_await when_all(ask(), ask());
        EXPECT_LE(loop::current()->now() - begun, 500ms);
        EXPECT_EQ(peer.connections.size(), 2U);
    });
}

TEST(client_h2, sends_the_second_copy_on_the_same_connection_where_the_pool_is_full) {
    http::pool_options p;
    p.connections = 1;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            int copies = 0;
            peer.on_end = [&copies](connection& c, request& r) {
                if (++copies == 2) c.respond(r, "here");
            };
            http::client_options o = client.defaults();
            o.retry.hedge_after = 200ms;
            const time_point begun = loop::current()->now();
            const auto got = co_await client.get(peer.url("/hedged")).options(o).full();
            EXPECT_EQ(got.body, "here");
            EXPECT_LE(loop::current()->now() - begun, 500ms);
            EXPECT_EQ(peer.connections.size(), 1U);
        },
        p);
}

TEST(client_h2, leaves_a_silent_connection_though_each_call_ends_early) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_end = [](connection& c, request& r) { c.respond(r, "here"); };
        EXPECT_EQ((co_await client.get(peer.url("/first")).full()).body, "here");
        peer.connections[0]->falls_silent = true;
        std::string ends;
        for (int i = 0; i != 6; ++i) {
            auto calling = client.get(peer.url("/later")).timeout(300ms).full();
            const auto got = co_await as_result(calling);
            ends += got ? '1' : '0';
        }
        // The fourth has found a silence of more than a second.
        EXPECT_EQ(ends, "000011");
        EXPECT_EQ(peer.connections.size(), 2U);
        // Short calls to one that responds to others stay on it.
        peer.on_end = [](connection& c, request& r) {
            if (r.path == "/quick") c.respond(r, "quick");
        };
        for (int i = 0; i != 6; ++i) {
            auto calling = client.get(peer.url("/slow")).timeout(300ms).full();
            const auto got = co_await as_result(calling);
            EXPECT_FALSE(got);
            EXPECT_EQ((co_await client.get(peer.url("/quick")).full()).body, "quick");
        }
        EXPECT_EQ(peer.connections.size(), 2U);
    });
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
            if (r.path == "/no-error") c.reset(r, h2_code::no_error);
            if (r.path == "/broken") c.send_raw(std::string("\0\0\1\6\0\0\0\0\0x", 10));
            if (r.path == "/cut") c.close();
        };
        const auto reset = co_await as_result(client.get(peer.url("/reset")).full());
        EXPECT_TRUE(!reset && reset.error().code() == make_error_code(h2_code::internal_error));
        // That is an error all the same: there was no response.
        const auto ended = co_await as_result(client.get(peer.url("/no-error")).full());
        EXPECT_TRUE(!ended && ended.error().code() == make_error_code(h2_code::protocol_error));
        EXPECT_NE(ended.error().message().find("NO_ERROR"), std::string::npos);
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
            if (r.path != "/reset") return c.respond(r, 413, {}, "too large");
            c.respond(r, 413, {}, {}, false);
            c.send(r, "too large", true, [&c, &r] { c.reset(r, h2_code::no_error); });
        };
        peer.on_end = {};
        // RFC 9113 section 8.1: a reset without an error leaves the response as it is.
        for (const char* path : {"/", "/reset"}) {
            const std::string large(400'000, 'x');
            auto kept = co_await as_result(client.post(peer.url(path)).body(large).full());
            EXPECT_TRUE(kept) << path << ": " << kept.error();
            if (!kept) continue;
            EXPECT_EQ(kept->status, http::status::content_too_large) << path;
            EXPECT_EQ(kept->body, "too large") << path;
        }
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
