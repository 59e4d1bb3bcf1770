// Attacks of a hostile client of HTTP/2 beside a hundred clients that behave (rows 9 to 17 of the
// attacks that the limits are for): these are served as if it were not there, the counter of the
// limit rises, the attacker gets the frame that RFC 9113 wants, and the memory comes back.

#include "../wire/h2_frames.hpp"
#include "integration/http/simulated_server.hpp"
#include "support/allocation_count.hpp"
#include "support/h2_peer.hpp"
#include "support/sanitized.hpp"

#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <malloc.h>

#include <algorithm>
#include <vector>

namespace {

using namespace simulated;
using namespace http::h2::test;
using http::h2::error_code;
using http::h2::frame_type;
namespace flag = http::h2::flag;
using http::h2::setting;
using counter = std::uint64_t http::server_counters::*;

constexpr unsigned others = 100;
constexpr unsigned calls_of_each = 3;
constexpr std::int64_t mib = 1024 * 1024;
/// The most that the heap may grow by, beside what the attack holds at its limits.
constexpr std::int64_t most_growth = 4 * mib;
/// Allocations that three attacks may leave behind three others: the pools keep some blocks.
constexpr std::int64_t most_kept = 256;

std::uint32_t id_of(std::uint32_t round) {
    return 2 * round + 1;
}

/// An attack: bytes that are sent, round by round, behind the preface and `settings`.
struct attack {
    const char* name;
    std::uint32_t rounds;
    std::string (*bytes)(std::uint32_t round);
    counter counted;
    error_code goaway = error_code::no_error;  ///< what ends the connection; none: nothing does
    error_code reset = error_code::no_error;   ///< what ends one of its streams
    int status = 0;                            ///< of a response
    std::string settings = {};
    duration lasts = {};  ///< how long it goes on behind its bytes
    http::server_options options = {};
    duration pause = {};  ///< behind each round
};

/// The first frames of a kind in what a server has sent.
struct told {
    std::vector<error_code> goaways;
    std::vector<error_code> resets;
    std::vector<int> statuses;

    explicit told(std::string_view bytes) {
        using header = http::h2::frame_header;
        http::h2::head_reader reader;
        while (bytes.size() >= header::size) {
            const auto h = http::h2::read_frame_header(bytes.data());
            const std::string_view payload = bytes.substr(header::size, h.length);
            if (payload.size() < h.length) return;
            bytes.remove_prefix(header::size + h.length);
            if (h.type == frame_type::goaway) goaways.push_back(code_at(payload, 4));
            if (h.type == frame_type::rst_stream) resets.push_back(code_at(payload, 0));
            if (h.type == frame_type::headers) {
                reader.begin(http::h2::head_kind::response, {64 * 1024, 100}, false);
                http::h2::head response;
                if (reader.read(payload, true)) static_cast<void>(reader.finish({}, response));
                statuses.push_back(response.code);
            }
        }
    }
    static error_code code_at(std::string_view payload, std::size_t at) {
        return static_cast<error_code>(http::h2::read_u32(payload.data() + at));
    }
};

template <class T>
bool has(const std::vector<T>& all, T one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

/// Bytes of the heap that are in use.
std::int64_t heap() {
    const struct mallinfo2 now = ::mallinfo2();
    return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
}

/// The events of one world: the calls of the others, with or without an attacker beside them.
class scene {
public:
    scene(world& w, const attack* a) : world_(&w), attack_(a) {}

    task<> run() {
        const auto all = [this](task_group& g) -> task<> {
            for (unsigned i = 0; i != others; ++i) g.spawn([this, i] { return behave(i); });
            if (attack_ != nullptr) g.spawn([this] { return misbehave(); });
            co_return;
        };
        co_await with_task_group(all);
    }
    duration p99() {
        std::sort(took_.begin(), took_.end());
        return took_.empty() ? duration::zero() : took_[took_.size() * 99 / 100];
    }
    unsigned good() const noexcept { return good_; }
    const std::string& said() const noexcept { return said_; }
    std::int64_t most_heap() const noexcept { return most_heap_; }

private:
    /// Its calls are spread over the time in which an attack goes on.
    task<> behave(unsigned i) {
        h2_peer p(co_await world_->connect());
        for (unsigned n = 0; n != calls_of_each; ++n) {
            co_await p.go_on_for(std::chrono::milliseconds(1 + (i * 7 + n * 31) % 90));
            const time_point begun = world_->sim.now();
            auto& m = n == 1 ? p.post("/echo", repeated(3000, 'e')) : p.get("/hello");
            co_await p.until_over(m);
            took_.push_back(world_->since(begun));
            if (m.status == 200 && m.content == (n == 1 ? repeated(3000, 'e') : "hello")) ++good_;
        }
    }
    task<> misbehave() {
        peer p = co_await world_->connect();
        std::string opening(http::h2::client_preface);
        opening += settings_frame(attack_->settings);
        auto sent = co_await as_result(p.send(opening));
        const auto attacking = [&]() -> task<> {
            for (std::uint32_t i = 0; sent && i != attack_->rounds; ++i) {
                sent = co_await as_result(p.send(attack_->bytes(i)));
                if (attack_->pause > 0s)
                    co_await sleep_for(attack_->pause);
                else if (i % 8 == 0)
                    co_await sleep_for(1ms);
                most_heap_ = std::max(most_heap_, heap());
            }
        };
        // The server's frames are read meanwhile, or the two would wait for each other.
        const auto hearing = [&]() -> task<> {
            for (;;) {
                net::receive receiving = p.stream().receive();
                auto got = co_await as_result(receiving);
                if (!got) co_return;
                said_ += got->view();
            }
        };
        const auto both = [&](task_group& g) -> task<> {
            g.spawn(hearing);
            co_await attacking();
            const time_point end = world_->sim.now() + attack_->lasts + 200ms;
            while (world_->sim.now() < end) {
                most_heap_ = std::max(most_heap_, heap());
                co_await sleep_for(20ms);
            }
            g.cancel();
        };
        co_await as_result(with_task_group(both));
        p.close();
    }

    world* world_;
    const attack* attack_;
    std::vector<duration> took_;
    std::string said_;
    std::int64_t most_heap_ = 0;
    unsigned good_ = 0;
};

/// How long the others' calls take where nobody attacks.
duration undisturbed(std::uint64_t seed) {
    world w(seed);
    scene s(w, nullptr);
    w.run([&](world&) -> task<> { co_await s.run(); });
    EXPECT_EQ(s.good(), others * calls_of_each);
    return s.p99();
}

void expect_harmless(const attack& a) {
    SCOPED_TRACE(a.name);
    for (const std::uint64_t seed : seeds(fewer_if_sanitized(2))) {
        const duration usual = undisturbed(seed);
        world w(seed, a.options);
        std::string said;
        w.run([&](world& in) -> task<> {
            // The first three find out what the pools keep; a leak would go on.
            std::int64_t before = 0;
            std::int64_t early = INT64_MAX;
            std::int64_t late = INT64_MAX;
            for (int i = 0; i != 6; ++i) {
                scene s(in, &a);
                co_await s.run();
                EXPECT_EQ(s.good(), others * calls_of_each);
                EXPECT_LE(s.p99(), 2 * usual);
                said = s.said();
                co_await sleep_for(1min);
                EXPECT_EQ(in.counters().open, 0u);
                if (i == 0) before = heap();
                auto& least = i < 3 ? early : late;
                if (i != 0) least = std::min<std::int64_t>(least, live_allocations());
                if (i != 0) {
                    EXPECT_LE(s.most_heap() - before, most_growth);
                }
            }
            EXPECT_LE(late - early, most_kept);
            EXPECT_LE(heap() - before, most_growth);
            EXPECT_GE(in.counters().*a.counted, 3u);
        });
        const told responses(said);
        if (a.goaway == error_code::no_error) {
            EXPECT_TRUE(responses.goaways.empty());
        } else {
            EXPECT_TRUE(has(responses.goaways, a.goaway)) << describe(a.goaway);
        }
        if (a.reset != error_code::no_error) {
            EXPECT_TRUE(has(responses.resets, a.reset)) << describe(a.reset);
        }
        if (a.status != 0) {
            EXPECT_TRUE(has(responses.statuses, a.status)) << a.status;
        }
        if (::testing::Test::HasFailure()) return;
    }
}

constexpr auto calm = error_code::enhance_your_calm;
using counters = http::server_counters;

/// A value that is put into the table of HPACK once; each byte of `references` stands for it.
std::string bomb(std::uint32_t round, std::size_t references) {
    std::string bytes = get_block("/sleep?ms=100").bytes();
    if (round == 0) {
        bytes += "\x40\x01x";
        block value;
        value.add("", std::string(3000, 'v'));
        bytes += value.bytes().substr(2);
    }
    bytes += std::string(references, '\xbe');
    return frame(frame_type::headers, flag::end_headers | flag::end_stream, id_of(round), bytes);
}

http::server_options with_little_time() {
    http::server_options o;
    o.timeouts.write = 2s;
    return o;
}

/// A DATA frame with a byte of content, and as much padding as there can be.
std::string padded_byte(std::uint32_t stream) {
    return frame(frame_type::data, flag::padded, stream,
                 std::string("\xffx", 2) + std::string(255, '\0'));
}

}  // namespace

TEST(h2_beside_others, row_9_rapid_reset) {
    expect_harmless({"opened and reset", 400,
                     [](std::uint32_t i) {
                         return headers(id_of(i), get_block("/sleep")) +
                                rst(id_of(i), error_code::cancel);
                     },
                     &counters::h2_resets, calm});
    // CVE-2019-9514: resets of streams that are over already.
    expect_harmless({"resets of nothing", 1300,
                     [](std::uint32_t i) {
                         return i == 0 ? headers(1, get_block("/hello"))
                                       : rst(1, error_code::cancel);
                     },
                     &counters::h2_idle_frames, calm});
}

TEST(h2_beside_others, row_10_resets_that_the_server_is_made_to_send) {
    const auto with = [](std::string (*bytes)(std::uint32_t)) {
        return attack{"made you reset", 400, bytes, &counters::h2_resets, calm};
    };
    expect_harmless(with([](std::uint32_t i) {
        return headers(id_of(i), get_block("/sleep"), false) + window_update(id_of(i), 0);
    }));
    expect_harmless(with([](std::uint32_t i) {
        return headers(id_of(i), get_block("/sleep"), false) + window_update(id_of(i), 0x7fffffff);
    }));
    expect_harmless(with([](std::uint32_t i) {
        return headers(id_of(i), get_block("/sleep")) + data(id_of(i), "behind the end");
    }));
    expect_harmless(with([](std::uint32_t i) {
        return headers(id_of(i), get_block("/sleep")) +
               frame(frame_type::priority, 0, id_of(i), u32(id_of(i)) + "x");
    }));
    expect_harmless(with([](std::uint32_t i) {
        block b = post_block();
        return headers(id_of(i), b.add("content-length", "1"), false) + data(id_of(i), "two");
    }));
    // Each head is empty, or has no field that a request must have.
    expect_harmless(with([](std::uint32_t i) { return headers(id_of(i), block()); }));
}

TEST(h2_beside_others, row_11_continuations_without_an_end) {
    const auto opened = [](std::uint32_t i, std::string_view more) {
        if (i == 0) return headers(1, get_block(), true, false);
        return frame(frame_type::continuation, 0, 1, more);
    };
    static const auto begin = opened;
    expect_harmless({"empty", 300, [](std::uint32_t i) { return begin(i, ""); },
                     &counters::h2_continuations, calm});
    expect_harmless({"small", 300,
                     [](std::uint32_t i) { return begin(i, block().add("x", "y").bytes()); },
                     &counters::h2_continuations, calm});
    expect_harmless({"large", 300,
                     [](std::uint32_t i) {
                         return begin(i, block().add("x", std::string(15'000, 'y')).bytes());
                     },
                     &counters::head_too_large, calm});
}

TEST(h2_beside_others, row_12_heads_that_grow) {
    expect_harmless({"one entry of the table again and again", 50,
                     [](std::uint32_t i) { return bomb(i, 4000); }, &counters::head_too_large,
                     error_code::no_error, error_code::no_error, 431});
    expect_harmless({"crumbs of a cookie", 50,
                     [](std::uint32_t i) {
                         block b = get_block();
                         for (int n = 0; n != 1800; ++n) b.add("cookie", "");
                         return headers(id_of(i), b);
                     },
                     &counters::head_too_large, error_code::no_error, error_code::no_error, 431});
    // Each is just small enough, and all of them are pinned by windows that never open.
    expect_harmless({"many heads at once", 90, [](std::uint32_t i) { return bomb(i, 20); },
                     &counters::h2_streams_refused, error_code::no_error,
                     error_code::refused_stream, 0, setting_entry(setting::initial_window_size, 0),
                     5s, with_little_time()});
}

TEST(h2_beside_others, row_13_settings_and_pings) {
    expect_harmless(
        {"settings", 100,
         [](std::uint32_t) { return settings_frame(setting_entry(setting::enable_push, 0)); },
         &counters::h2_settings, calm});
    expect_harmless({"a window that shrinks and grows", 100,
                     [](std::uint32_t i) {
                         const auto size = setting_entry(setting::initial_window_size, i % 2);
                         if (i != 0) return settings_frame(size);
                         std::string all;
                         for (std::uint32_t n = 0; n != 90; ++n)
                             all += headers(id_of(n), get_block("/big?n=10000"));
                         return all;
                     },
                     &counters::h2_settings, calm});
    expect_harmless({"settings without an end", 1,
                     [](std::uint32_t) {
                         std::string all;
                         for (int i = 0; i != 1000; ++i)
                             all += setting_entry(setting::header_table_size, 4096);
                         return settings_frame(all);
                     },
                     &counters::h2_settings, calm});
    expect_harmless({"pings", 300,
                     [](std::uint32_t) { return frame(frame_type::ping, 0, 0, "12345678"); },
                     &counters::h2_pings, calm});
    expect_harmless(
        {"pongs", 1300,
         [](std::uint32_t) { return frame(frame_type::ping, flag::ack, 0, "12345678"); },
         &counters::h2_idle_frames, calm});
    http::server_options patient;
    patient.limits.h2.pings = 1'000'000;
    expect_harmless({"pings all at once",
                     1,
                     [](std::uint32_t) {
                         std::string all;
                         for (int i = 0; i != 20'000; ++i)
                             all += frame(frame_type::ping, 0, 0, "12345678");
                         return all;
                     },
                     &counters::h2_queued_control,
                     calm,
                     error_code::no_error,
                     0,
                     {},
                     {},
                     patient});
}

TEST(h2_beside_others, row_14_data_that_is_empty_or_tiny) {
    expect_harmless({"empty", 100,
                     [](std::uint32_t i) {
                         return i == 0 ? headers(1, get_block("/sleep?ms=3000"), false)
                                       : data(1, "");
                     },
                     &counters::h2_empty_data, calm});
    expect_harmless({"one byte", 1200,
                     [](std::uint32_t i) {
                         return i == 0 ? headers(1, get_block("/sleep?ms=3000"), false)
                                       : repeated(32, data(1, "x"));
                     },
                     &counters::h2_small_data, calm});
    // On two streams: the window of one would be full before.
    expect_harmless({"one byte, and more padding than makes a frame small", 1200,
                     [](std::uint32_t i) {
                         if (i != 0) return repeated(16, padded_byte(1) + padded_byte(3));
                         return headers(1, get_block("/sleep?ms=3000"), false) +
                                headers(3, get_block("/sleep?ms=3000"), false);
                     },
                     &counters::h2_small_data, calm});
}

TEST(h2_beside_others, row_14_padding_and_nothing_else) {
    expect_harmless({"only padding", 100,
                     [](std::uint32_t i) {
                         if (i == 0) return headers(1, get_block("/sleep?ms=3000"), false);
                         return frame(frame_type::data, flag::padded, 1,
                                      "\xff" + std::string(255, '\0'));
                     },
                     &counters::h2_empty_data, calm});
}

TEST(h2_beside_others, row_15_priorities) {
    expect_harmless(
        {"PRIORITY", 1300,
         [](std::uint32_t i) { return frame(frame_type::priority, 0, id_of(i), u32(0) + "x"); },
         &counters::h2_idle_frames, calm});
    expect_harmless(
        {"PRIORITY_UPDATE", 1300,
         [](std::uint32_t) { return frame(frame_type::priority_update, 0, 0, u32(1) + "u=1"); },
         &counters::h2_idle_frames, calm});
    expect_harmless({"frames that nobody knows", 1300,
                     [](std::uint32_t) { return frame(static_cast<frame_type>(0xfa), 0, 0, "x"); },
                     &counters::h2_idle_frames, calm});
}

TEST(h2_beside_others, row_16_windows) {
    expect_harmless({"too many updates", 1300, [](std::uint32_t) { return window_update(0, 1); },
                     &counters::h2_idle_frames, calm});
    // A frame that breaks a rule of the RFC is no limit, and counts as malformed at most.
    expect_harmless({"beyond all", 1, [](std::uint32_t) { return window_update(0, 0x7fffffff); },
                     &counters::h2_connections, error_code::flow_control_error});
    expect_harmless({"by nothing", 1, [](std::uint32_t) { return window_update(0, 0); },
                     &counters::h2_connections, error_code::protocol_error});
    expect_harmless({"of a stream beyond all", 1,
                     [](std::uint32_t) {
                         return headers(1, get_block("/sleep")) + window_update(1, 0x7fffffff);
                     },
                     &counters::h2_connections, error_code::no_error,
                     error_code::flow_control_error});
    expect_harmless({"content beyond the window", 300,
                     [](std::uint32_t i) {
                         return i == 0 ? headers(1, get_block("/sleep?ms=3000"), false)
                                       : data(1, std::string(16'384, 'x'));
                     },
                     &counters::h2_connections, error_code::no_error,
                     error_code::flow_control_error});
}

TEST(h2_beside_others, row_17_streams_and_windows_that_stall) {
    expect_harmless({"more streams than there may be", 200,
                     [](std::uint32_t i) { return headers(id_of(i), get_block("/sleep")); },
                     &counters::h2_streams_refused, error_code::no_error,
                     error_code::refused_stream});
    expect_harmless({"responses that are never read", 90,
                     [](std::uint32_t i) { return headers(id_of(i), get_block("/big?n=20000")); },
                     &counters::write_timeouts, error_code::no_error, error_code::cancel, 200,
                     setting_entry(setting::initial_window_size, 0), 10s, with_little_time()});
    http::server_options hasty;
    hasty.timeouts.write = 2s;
    hasty.timeouts.write_window = 4s;
    expect_harmless({"responses that are read byte by byte", 60,
                     [](std::uint32_t i) {
                         return i == 0 ? headers(1, get_block("/big?n=20000"))
                                       : window_update(1, 1);
                     },
                     &counters::write_too_slow, error_code::no_error, error_code::cancel, 200,
                     setting_entry(setting::initial_window_size, 0), 1s, hasty, 500ms});
}

// Rows 9 and 10 again: the handlers of streams that were reset count until they have ended.
TEST(h2_beside_others, handlers_that_outlive_their_streams_are_bounded) {
    int running = 0;
    int most = 0;
    http::router r;
    r.get("/hello", [](http::request&) { return http::response("hello"); });
    r.get("/stubborn", [&](http::request&) -> task<http::response> {
        most = std::max(most, ++running);
        const auto rest = []() -> task<> { co_await sleep_for(10s); };
        co_await as_result(shielded(20s, rest));
        --running;
        co_return http::response("late");
    });
    http::server_options o;
    o.limits.h2.resets = 1000;
    o.limits.h2.reset_handlers = 30;
    world w(1, http::handler(r), o);
    w.run([&](world& in) -> task<> {
        peer p = co_await in.connect();
        std::string all(http::h2::client_preface);
        all += settings_frame();
        for (std::uint32_t i = 0; i != 250; ++i) {
            all += headers(id_of(i), get_block("/stubborn")) + rst(id_of(i), error_code::cancel);
        }
        co_await p.send(all);
        co_await sleep_for(1s);
        EXPECT_EQ(running, 130);
        EXPECT_GE(in.counters().h2_streams_refused, 120u);
        // When they have ended there is place again.
        co_await sleep_for(20s);
        EXPECT_EQ(running, 0);
        co_await p.send(headers(id_of(300), get_block("/hello")));
        co_await sleep_for(1s);
        EXPECT_GE(in.counters().responses_2xx, 1u);
        p.close();
    });
    EXPECT_EQ(most, 130);
}
