// Attacks of a hostile client of HTTP/2 on a server (rows 9 to 17 of the attacks that the limits
// are for): it gets ENHANCE_YOUR_CALM and is cut, the counter of that limit rises, others are
// served.

#include "../wire/h2_frames.hpp"
#include "integration/http/simulated_server.hpp"
#include "support/h2_peer.hpp"

namespace {

using namespace simulated;
using namespace http::h2::test;
using http::h2::error_code;
using http::h2::frame_type;
namespace flag = http::h2::flag;
using http::h2::setting;

/// Bytes of a client, behind its preface and settings.
using script = std::function<std::string(std::uint32_t round)>;

/// Sends what `attack` gives for each round until the server ends the connection, or `rounds` have
/// gone; gives what the server sent.
task<std::string> attack_with(world& w, script attack, std::uint32_t rounds) {
    peer p = co_await w.connect();
    std::string opening(http::h2::client_preface);
    opening += settings_frame();
    auto sent = co_await as_result(p.send(opening));
    for (std::uint32_t i = 0; sent && i != rounds; ++i) {
        sent = co_await as_result(p.send(attack(i)));
        if (i % 16 == 0) co_await yield();
    }
    auto all = co_await as_result(p.read_to_end());
    co_return all ? *all : std::string();
}

/// The code of the GOAWAY in what a server sent, if there is one.
std::optional<error_code> goaway_in(std::string_view bytes) {
    while (bytes.size() >= http::h2::frame_header::size) {
        const auto header = http::h2::read_frame_header(bytes.data());
        const std::string_view payload = bytes.substr(http::h2::frame_header::size, header.length);
        if (header.type == frame_type::goaway && payload.size() >= 8) {
            return static_cast<error_code>(http::h2::read_u32(payload.data() + 4));
        }
        bytes.remove_prefix(std::min(bytes.size(), http::h2::frame_header::size + header.length));
    }
    return std::nullopt;
}

void expect_cut(const script& attack, std::uint32_t rounds,
                std::uint64_t http::server_counters::* counter) {
    for (const std::uint64_t seed : seeds(3)) {
        simulation_options whole;
        whole.split = 0;
        world w(seed, {}, whole);
        w.run([&](world& in) -> task<> {
            h2_peer good(co_await in.connect());
            auto& before = good.get("/sleep?ms=1000&id=1");
            co_await good.flush();
            const std::string told = co_await attack_with(in, attack, rounds);
            const auto code = goaway_in(told);
            EXPECT_TRUE(code.has_value());
            EXPECT_EQ(code.value_or(error_code::no_error), error_code::enhance_your_calm);
            EXPECT_GE(in.counters().*counter, 1u);
            co_await good.until_over(before);
            EXPECT_EQ(before.content, "slept 1");
            auto& after = good.get("/hello");
            co_await good.until_over(after);
            EXPECT_EQ(after.content, "hello");
        });
        if (::testing::Test::HasFailure()) return;
    }
}

std::uint32_t id_of(std::uint32_t round) {
    return 2 * round + 1;
}

}  // namespace

TEST(h2_attacks, rapid_reset) {
    expect_cut(
        [](std::uint32_t i) {
            return headers(id_of(i), get_block("/sleep")) + rst(id_of(i), error_code::cancel);
        },
        400, &http::server_counters::h2_resets);
}

TEST(h2_attacks, resets_that_the_server_is_made_to_send) {
    expect_cut(
        [](std::uint32_t i) {
            return headers(id_of(i), get_block("/sleep"), false) + window_update(id_of(i), 0);
        },
        400, &http::server_counters::h2_resets);
}

TEST(h2_attacks, more_streams_than_there_may_be) {
    expect_cut([](std::uint32_t i) { return headers(id_of(i), get_block("/sleep")); }, 400,
               &http::server_counters::h2_streams_refused);
}

TEST(h2_attacks, continuations_without_an_end) {
    expect_cut(
        [](std::uint32_t i) {
            if (i == 0) return headers(1, get_block(), true, false);
            return frame(frame_type::continuation, 0, 1, block().add("x", "y").bytes());
        },
        20, &http::server_counters::h2_continuations);
}

TEST(h2_attacks, settings_pings_and_frames_that_mean_nothing) {
    expect_cut([](std::uint32_t) { return settings_frame(setting_entry(setting::enable_push, 0)); },
               100, &http::server_counters::h2_settings);
    expect_cut([](std::uint32_t) { return frame(frame_type::ping, 0, 0, "12345678"); }, 300,
               &http::server_counters::h2_pings);
    expect_cut(
        [](std::uint32_t i) {
            return frame(frame_type::priority, 0, id_of(i), std::string("\0\0\0\0\1", 5));
        },
        2500, &http::server_counters::h2_idle_frames);
    expect_cut([](std::uint32_t) { return frame(static_cast<frame_type>(0xfa), 0, 0, "x"); }, 2500,
               &http::server_counters::h2_idle_frames);
}

TEST(h2_attacks, data_that_is_empty_or_tiny) {
    expect_cut(
        [](std::uint32_t i) {
            return i == 0 ? headers(1, post_block(), false) : frame(frame_type::data, 0, 1);
        },
        50, &http::server_counters::h2_empty_data);
    // The flood hits a body that its handler has not read yet.
    expect_cut(
        [](std::uint32_t i) {
            return i == 0 ? headers(1, get_block("/sleep?ms=3000"), false)
                          : repeated(32, data(1, "x"));
        },
        1200, &http::server_counters::h2_small_data);
}

TEST(h2_attacks, heads_that_grow_when_they_are_decompressed) {
    for (const std::uint64_t seed : seeds(3)) {
        world w(seed);
        w.run([](world& in) -> task<> {
            h2_peer p(co_await in.connect());
            const std::string value(1000, 'v');
            h2_peer::lines lines;
            for (int i = 0; i != 80; ++i) lines.emplace_back("x", value);
            auto& m = p.get("/hello", lines);
            co_await p.until_over(m);
            EXPECT_EQ(m.status, 431);
            auto& after = p.get("/hello");
            co_await p.until_over(after);
            EXPECT_EQ(after.status, 200);
            EXPECT_EQ(in.counters().head_too_large, 1u);
        });
    }
}

TEST(h2_attacks, a_head_that_never_ends_has_the_time_of_a_head) {
    world w(1);
    w.run([](world& in) -> task<> {
        const time_point begun = in.sim.now();
        // Behind one that is whole, whose memory it uses.
        const script attack = [](std::uint32_t i) {
            return headers(id_of(i), get_block("/hello"), true, i == 0);
        };
        const std::string told = co_await attack_with(in, attack, 2);
        EXPECT_EQ(goaway_in(told), error_code::enhance_your_calm);
        EXPECT_LT(in.since(begun), 20s);
        EXPECT_EQ(in.counters().head_timeouts, 1u);
    });
}

TEST(h2_attacks, a_client_that_makes_the_server_respond_and_does_not_read) {
    http::server_options o;
    o.timeouts.write = 5s;
    world w(1, o);
    w.run([](world& in) -> task<> {
        peer p = co_await in.connect();
        std::string all(http::h2::client_preface);
        all += settings_frame(setting_entry(setting::initial_window_size, 0x7fffffff));
        all += window_update(0, 0x70000000);
        for (std::uint32_t i = 0; i != 100; ++i) {
            all += headers(id_of(i), get_block("/big?n=1000000"));
        }
        co_await p.send(all);
        while (in.counters().open != 0) co_await sleep_for(1s);
        EXPECT_GE(in.counters().write_timeouts, 1u);
    });
}

TEST(h2_attacks, a_client_that_asks_on_and_does_not_acknowledge_the_farewell) {
    http::server_options o;
    o.limits.requests = 2;
    world w(1, o);
    w.run([](world& in) -> task<> {
        peer p = co_await in.connect();
        std::string all(http::h2::client_preface);
        all += settings_frame() + headers(1, get_block("/sleep?ms=100"));
        co_await p.send(all + headers(3, get_block("/hello")));
        co_await sleep_for(500ms);
        // The first GOAWAY allows it, and no acknowledgement of the PING behind it comes.
        auto more = p.send(headers(5, get_block("/hello")));
        co_await std::move(more);
        const time_point begun = in.sim.now();
        while (in.counters().open != 0) co_await sleep_for(100ms);
        EXPECT_LT(in.since(begun), 8s);
        EXPECT_EQ(in.counters().retired, 1u);
        EXPECT_EQ(in.counters().responses_2xx, 3u);
    });
}
