#include "support/allocation_count.hpp"
#include "support/virtual_time.hpp"

#include <coracle/http/events.hpp>
#include <coracle/http/stream_from.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

/// Takes what a streamed response writes; each piece takes `pause`.
class recording_writer final : public http::body_writer {
public:
    std::string all;
    duration pause{};
    bool gone = false;

    task<> run(http::response& r) { co_await r.body().stream_part()(*this); }

private:
    task<std::expected<void, error>> write_piece(std::string_view piece) override {
        if (gone) co_return std::unexpected(error(std::errc::broken_pipe, "write"));
        EXPECT_FALSE(writing_);
        writing_ = true;
        if (pause != duration{}) co_await sleep_for(pause);
        writing_ = false;
        all += piece;
        co_return std::expected<void, error>();
    }
    task<std::expected<void, error>> send_head() override {
        all += "(head)";
        co_return std::expected<void, error>();
    }

    bool writing_ = false;
};

http::request& asking(http::request& req, std::string_view last_id) {
    if (!last_id.empty()) req.fields().set("Last-Event-ID", last_id);
    return req;
}

/// Returns the bytes that a response of `f` writes.
template <class F>
std::string sent(F f, http::event_options options = {}, std::string_view last_id = {}) {
    recording_writer out;
    run_virtually([&]() -> task<> {
        http::request req;
        http::response r = http::events(asking(req, last_id), f, options);
        co_await out.run(r);
    });
    return out.all;
}

}  // namespace

TEST(events, have_the_fields_of_a_stream_of_events) {
    http::request req;
    const http::response r = http::events(req, [](http::event_sink&) -> task<> { co_return; });
    EXPECT_EQ(r.header("Content-Type"), "text/event-stream");
    EXPECT_EQ(r.fields().get("cache-control"), "no-store");
    EXPECT_EQ(r.fields().get("x-accel-buffering"), "no");
}

TEST(events, are_sent_as_they_come) {
    const auto f = [](http::event_sink& out) -> task<> {
        EXPECT_EQ(out.last_event_id(), "41");
        co_await out.send({.id = "42", .event = "tick", .data = "one\ntwo"});
        co_await out.send("three");
        co_await out.comment("bye");
    };
    EXPECT_EQ(sent(f, {}, "41"),
              "(head)id: 42\nevent: tick\ndata: one\ndata: two\n\ndata: three\n\n: bye\n\n");
    const auto nothing = [](http::event_sink&) -> task<> { co_return; };
    EXPECT_EQ(sent(nothing, {.retry = 3s}), "(head)retry: 3000\n\n");
}

TEST(events, refuse_to_be_split) {
    const auto f = [](http::event_sink& out) -> task<> {
        const auto r = co_await as_result(out.send({.id = "1\n\ndata: x", .data = "y"}));
        EXPECT_EQ(r.error(), std::errc::invalid_argument);
    };
    EXPECT_EQ(sent(f), "(head)");
}

TEST(events, say_that_they_live_after_so_much_silence) {
    const auto f = [](http::event_sink& out) -> task<> {
        co_await sleep_for(14s);
        co_await out.send("a");
        co_await sleep_for(31s);
        co_await out.send("b");
        co_await sleep_for(14s);
    };
    EXPECT_EQ(sent(f), "(head)data: a\n\n:\n\n:\n\ndata: b\n\n");
    EXPECT_EQ(sent(f, {.heartbeat = 0s}), "(head)data: a\n\ndata: b\n\n");
    EXPECT_EQ(sent(f, {.heartbeat = std::chrono::milliseconds::max()}),
              "(head)data: a\n\ndata: b\n\n");
    EXPECT_EQ(sent(f, {.heartbeat = 10s}), "(head):\n\ndata: a\n\n:\n\n:\n\n:\n\ndata: b\n\n:\n\n");
}

TEST(events, stay_whole_beside_a_heartbeat_and_each_other) {
    recording_writer out;
    out.pause = 2s;
    run_virtually([&]() -> task<> {
        http::request req;
        http::response r =
            http::events(req,
                         [](http::event_sink& to) -> task<> {
                             co_await sleep_for(1500ms);  // a heartbeat is being written
                             auto a = to.send("a");
                             auto b = to.send("b");
                             co_await when_all(std::move(a), std::move(b));
                             co_await sleep_for(1500ms);  // and another one at the end
                         },
                         {.heartbeat = 1s});
        co_await out.run(r);
    });
    EXPECT_EQ(out.all, "(head):\n\ndata: a\n\ndata: b\n\n:\n\n");
}

TEST(events, end_when_the_heartbeat_finds_the_client_gone) {
    recording_writer out;
    out.gone = true;
    run_virtually([&]() -> task<> {
        http::request req;
        http::response r =
            http::events(req, [](http::event_sink&) -> task<> { co_await forever(); });
        const time_point began = loop::current()->now();
        const auto ended = co_await as_result(out.run(r));
        EXPECT_EQ(ended.error(), std::errc::broken_pipe);
        EXPECT_EQ(loop::current()->now() - began, 15s);
    });
}

namespace {

/// Returns the events that a client with this id gets of a topic, which is closed at once.
std::string replayed(http::event_topic topic, std::string_view last_id) {
    const auto f = [topic](http::event_sink& out) mutable -> task<> {
        auto all = topic.send_to(out);
        co_await std::move(all);
    };
    return sent(f, {}, last_id);
}

}  // namespace

TEST(event_topic, gives_what_was_missed_since_the_last_id) {
    http::event_topic topic(3, 10);
    for (const char* data : {"a", "b", "c", "d"}) topic.publish(data);
    topic.close();
    const std::string c = "id: 12\ndata: c\n\n";
    const std::string d = "id: 13\ndata: d\n\n";
    const std::string b = "id: 11\ndata: b\n\n";
    EXPECT_EQ(replayed(topic, ""), "(head)id: 13\n\n");
    EXPECT_EQ(replayed(topic, "13"), "(head)");
    EXPECT_EQ(replayed(topic, "12"), "(head)" + d);
    EXPECT_EQ(replayed(topic, "11"), "(head)" + c + d);
    for (const char* unknown : {"10", "14", "0", "x", "11x", "-1", "99999999999999999999"}) {
        EXPECT_EQ(replayed(topic, unknown), "(head)" + b + c + d) << unknown;
    }
    http::event_topic silent(3);
    silent.close();
    EXPECT_EQ(replayed(silent, "1"), "(head)");
    EXPECT_EQ(replayed(silent, ""), "(head)id: 0\n\n");
    http::event_topic from_zero(3, 0);
    from_zero.close();
    EXPECT_EQ(replayed(from_zero, ""), "(head)");
    http::event_topic forgetful(0, 10);
    EXPECT_EQ(forgetful.publish("a"), 10U);
    forgetful.close();
    EXPECT_EQ(replayed(forgetful, "9"), "(head)");
}

TEST(event_topic, has_no_gap_in_its_history_wherever_memory_fails) {
    if (!counts_allocations()) GTEST_SKIP() << "no allocation fails in this build";
    for (std::size_t n = 1; n != 8; ++n) {
        http::event_topic topic(100);
        std::uint64_t published = 0;
        // A deque takes memory for several at a time.
        for (int i = 0; i != 80; ++i) {
            fail_allocation(n);
            try {
                EXPECT_EQ(topic.publish("more"), published + 1);
                ++published;
            } catch (const std::bad_alloc&) {
                EXPECT_FALSE(allocation_will_fail());
            }
            fail_allocation(0);
        }
        const std::uint64_t last = topic.publish("last");
        EXPECT_EQ(last, published + 1);
        topic.publish("end");
        topic.close();
        EXPECT_EQ(replayed(topic, std::to_string(last)),
                  "(head)id: " + std::to_string(last + 1) + "\ndata: end\n\n");
        EXPECT_EQ(replayed(topic, std::to_string(last + 1)), "(head)");
    }
}

TEST(event_topic, refuses_a_type_of_several_lines) {
    http::event_topic topic;
    EXPECT_THROW(topic.publish("x", "a\nb"), exception);
    EXPECT_EQ(topic.publish("x"), 1u);
}

TEST(event_topic, sends_to_every_client_what_is_published) {
    http::event_topic topic(8);
    recording_writer first;
    recording_writer second;
    run_virtually([&]() -> task<> {
        const auto client = [&](recording_writer* out) -> task<> {
            http::request req;
            http::response r = http::events(
                req, [&](http::event_sink& to) -> task<> { co_await topic.send_to(to); });
            co_await out->run(r);
        };
        const auto publisher = [&]() -> task<> {
            co_await sleep_for(1s);
            EXPECT_EQ(topic.readers(), 2u);
            topic.publish("one", "news");
            topic.publish("two");
            topic.close();
        };
        auto a = client(&first);
        auto b = client(&second);
        auto c = publisher();
        co_await when_all(std::move(a), std::move(b), std::move(c));
    });
    EXPECT_EQ(first.all, "(head)id: 0\n\nid: 1\nevent: news\ndata: one\n\nid: 2\ndata: two\n\n");
    EXPECT_EQ(second.all, first.all);
    EXPECT_EQ(topic.readers(), 0u);
}

TEST(event_topic, cuts_a_client_that_falls_behind) {
    for (const int n : {3, 4, 5}) {
        http::event_topic topic(4);
        recording_writer out;
        run_virtually([&]() -> task<> {
            http::request req;
            http::response r = http::events(req, [&](http::event_sink& to) -> task<> {
                const auto ended = co_await as_result(topic.send_to(to));
                EXPECT_EQ(ended.has_value(), n <= 4);
                EXPECT_TRUE(ended || ended.error() == errc::too_slow);
            });
            const auto publisher = [&]() -> task<> {
                co_await sleep_for(1s);
                for (int i = 0; i != n; ++i) topic.publish("x");
                topic.close();
            };
            auto a = out.run(r);
            auto b = publisher();
            co_await when_all(std::move(a), std::move(b));
        });
        EXPECT_EQ(out.all.contains("data: x"), n <= 4);
    }
}

TEST(stream_from, writes_what_comes_through_a_channel) {
    recording_writer out;
    run_virtually([&]() -> task<> {
        channel<std::string> pieces(2);
        http::response r = http::stream_from(pieces, "text/plain");
        EXPECT_EQ(r.header("Content-Type"), "text/plain");
        const auto producer = [&]() -> task<> {
            for (const char* text : {"a", "b", "c", "d"}) co_await pieces.send(text);
            pieces.close();
        };
        auto a = out.run(r);
        auto b = producer();
        co_await when_all(std::move(a), std::move(b));
    });
    EXPECT_EQ(out.all, "(head)abcd");
}

TEST(stream_from, closes_the_channel_when_the_response_is_dropped) {
    channel<std::string> pieces(1);
    {
        http::response r = http::stream_from(pieces);
        const http::response moved = std::move(r);
        EXPECT_FALSE(pieces.closed());
    }
    EXPECT_TRUE(pieces.closed());
}
