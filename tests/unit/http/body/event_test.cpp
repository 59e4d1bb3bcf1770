#include <coracle/http/event.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace coracle::http;
using namespace std::chrono_literals;
using parse_status = event_parser::status;

namespace {

std::string written(const server_event& e) {
    std::string out;
    EXPECT_TRUE(append_event(out, e));
    return out;
}

/// All events of a stream that comes in pieces of `step` bytes; "type|id|data" each.
std::vector<std::string> parsed_by(std::string_view stream, std::size_t step,
                                   const event_limits& limits = {}) {
    event_parser parser(limits);
    std::vector<std::string> all;
    for (std::size_t at = 0; at < stream.size(); at += step) {
        std::string piece(stream.substr(at, step));
        std::string_view rest = piece;
        for (;;) {
            const auto r = parser.parse(rest);
            EXPECT_LE(r.consumed, rest.size());
            rest.remove_prefix(r.consumed);
            if (r.what == parse_status::limit_exceeded) {
                all.emplace_back("limit");
                return all;
            }
            if (r.what == parse_status::need_more) break;
            const received_event& e = parser.event();
            all.push_back(e.event + '|' + e.id + '|' + e.data);
        }
        EXPECT_TRUE(rest.empty());
    }
    return all;
}

std::vector<std::string> parsed(std::string_view stream, const event_limits& limits = {}) {
    const auto whole = parsed_by(stream, stream.size() + 1, limits);
    for (std::size_t step = 1; step != 6; ++step) {
        EXPECT_EQ(parsed_by(stream, step, limits), whole) << "pieces of " << step;
    }
    return whole;
}

using list = std::vector<std::string>;

}  // namespace

TEST(append_event, writes_fields_and_lines) {
    EXPECT_EQ(written({.data = "x"}), "data: x\n\n");
    EXPECT_EQ(written({.id = "7", .event = "tick", .data = "a\nb", .retry = 2s}),
              "id: 7\nevent: tick\nretry: 2000\ndata: a\ndata: b\n\n");
    EXPECT_EQ(written({.data = ""}), "data: \n\n");
    EXPECT_EQ(written({.id = ""}), "id: \n\n");
}

TEST(append_event, lets_no_data_become_another_event) {
    EXPECT_EQ(written({.data = "a\r\nb\rc\n\nid: 9\n"}),
              "data: a\ndata: b\ndata: c\ndata: \ndata: id: 9\ndata: \n\n");
}

TEST(append_event, refuses_ids_and_types_of_several_lines) {
    for (const std::string_view bad : {std::string_view("a\nb"), std::string_view("a\rb"),
                                       std::string_view("\0", 1), std::string_view("\n")}) {
        std::string out = "before";
        EXPECT_FALSE(append_event(out, {.id = bad, .data = "x"}));
        EXPECT_FALSE(append_event(out, {.event = bad, .data = "x"}));
        EXPECT_EQ(out, "before");
    }
}

TEST(append_event_comment, keeps_each_line_a_comment) {
    std::string out;
    append_event_comment(out, "a\r\ndata: x\n");
    EXPECT_EQ(out, ": a\n: data: x\n: \n\n");
    EXPECT_EQ(parsed(out), list{});
}

// The examples of the HTML standard, section 9.2.6.
TEST(event_parser, reads_as_the_standard_says) {
    EXPECT_EQ(parsed("data: YHOO\ndata: +2\ndata: 10\n\n"), list{"message||YHOO\n+2\n10"});
    EXPECT_EQ(parsed(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n"
                     "data:  third event\n\n"),
              (list{"message|1|first event", "message||second event", "message|| third event"}));
    EXPECT_EQ(parsed("data\n\ndata\ndata\n\ndata:"), (list{"message||", "message||\n"}));
    EXPECT_EQ(parsed("data:test\n\ndata: test\n\n"), (list{"message||test", "message||test"}));
}

TEST(event_parser, takes_every_line_end_and_a_byte_order_mark) {
    EXPECT_EQ(parsed("\xEF\xBB\xBF"
                     "data: a\r\rdata: b\r\n\r\ndata: c\n\n\n\r\n"),
              (list{"message||a", "message||b", "message||c"}));
    EXPECT_EQ(parsed("data: a\n\n\xEF\xBB\xBF"
                     "data: b\n\n"),
              list{"message||a"});
}

TEST(event_parser, keeps_the_id_and_forgets_the_type) {
    EXPECT_EQ(parsed("id: 5\nevent: x\ndata: 1\n\ndata: 2\n\nid: 6\n\nevent: y\n\ndata: 3\n\n"),
              (list{"x|5|1", "message|5|2", "message|6|3"}));
    EXPECT_EQ(parsed(std::string_view("id: 5\ndata: 1\nid: a\0b\n\n", 24)), list{"message|5|1"});
}

TEST(event_parser, takes_retry_when_it_is_a_number) {
    event_parser parser;
    parser.parse("retry: 12x\nretry: -1\nretry:\nretry: 99999999999\n\n");
    EXPECT_EQ(parser.retry(), std::nullopt);
    parser.parse("retry: 1500\nother: 1\n\n");
    EXPECT_EQ(parser.retry(), 1500ms);
}

TEST(event_parser, remembers_the_id_for_reconnecting) {
    event_parser parser;
    parser.parse("id: 5\n\nid: 6\ndata: x");
    EXPECT_EQ(parser.last_event_id(), "5");
}

// A copy of the id for each line would be terabytes: this would not end.
TEST(event_parser, copies_a_long_id_once) {
    constexpr std::size_t size = 4 * 1024 * 1024;
    event_parser parser({.line = size + 4});
    parser.parse("id: " + std::string(size, 'x') + "\n");
    EXPECT_EQ(parser.parse(std::string(1024 * 1024, '\n')).what, parse_status::need_more);
    EXPECT_EQ(parser.last_event_id().size(), size);
    std::string events;
    for (int i = 0; i != 200'000; ++i) events += "data\n\n";
    std::string_view rest = events;
    while (!rest.empty()) {
        const auto r = parser.parse(rest);
        ASSERT_EQ(r.what, parse_status::event);
        rest.remove_prefix(r.consumed);
    }
    EXPECT_EQ(parser.event().id.size(), size);
}

TEST(event_parser, holds_its_limits_to_the_byte) {
    const std::string line = "data: " + std::string(94, 'x') + "\n\n";
    const list whole{"message||" + std::string(94, 'x')};
    EXPECT_EQ(parsed(line, {.line = 101}), whole);
    EXPECT_EQ(parsed(line, {.line = 100}), whole);
    EXPECT_EQ(parsed(line, {.line = 99}), list{"limit"});
    EXPECT_EQ(parsed(std::string(100, ':'), {.line = 99}), list{"limit"});
    const std::string two = "data: 1234\ndata: 5678\n\n";
    EXPECT_EQ(parsed(two, {.data = 10}), list{"message||1234\n5678"});
    EXPECT_EQ(parsed(two, {.data = 9}), list{"message||1234\n5678"});
    EXPECT_EQ(parsed(two, {.data = 8}), list{"limit"});
    EXPECT_EQ(parsed("data: 1234\ndata\n\n", {.data = 5}), list{"message||1234\n"});
    EXPECT_EQ(parsed("data: 1234\ndata\n\n", {.data = 4}), list{"limit"});
}

TEST(event_parser, names_the_limit_that_it_holds) {
    event_parser parser({.line = 10});
    parser.parse("data: 1\n\n");
    EXPECT_EQ(parser.exceeded(), "");
    parser.parse("data: 12345");
    EXPECT_EQ(parser.exceeded(), "event_limits::line");
    EXPECT_EQ(parser.parse("\n\ndata: 1\n\n").what, parse_status::limit_exceeded);
    event_parser other({.data = 2});
    other.parse("data: 123\n");
    EXPECT_EQ(other.exceeded(), "event_limits::data");
}

TEST(event_parser, reads_the_same_wherever_it_is_cut) {
    const std::string_view stream =
        "\xEF\xBB\xBFid: 1\r\nevent: a\rdata: x\n\ndata:y\r\n\r\n:c\r\rretry: 5\ndata\n\nid\n\n";
    const list whole = parsed(stream);
    EXPECT_EQ(whole, (list{"a|1|x", "message|1|y", "message|1|"}));
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        event_parser parser;
        list all;
        for (std::string_view rest : {stream.substr(0, cut), stream.substr(cut)}) {
            for (;;) {
                const auto r = parser.parse(rest);
                rest.remove_prefix(r.consumed);
                if (r.what != parse_status::event) break;
                const received_event& e = parser.event();
                all.push_back(e.event + '|' + e.id + '|' + e.data);
            }
        }
        EXPECT_EQ(all, whole) << cut;
        EXPECT_EQ(parser.last_event_id(), "");
        EXPECT_EQ(parser.retry(), 5ms);
    }
}

TEST(event_parser, has_defaults_that_hold) {
    EXPECT_EQ(parsed_by(":" + std::string(256 * 1024 - 1, 'x') + "\n", 1 << 20), list{});
    EXPECT_EQ(parsed_by(":" + std::string(256 * 1024, 'x') + "\n", 1 << 20), list{"limit"});
    std::string lines;
    for (int i = 0; i != 8; ++i) lines += "data: " + std::string(128 * 1024 - 1, 'x') + "\n";
    // Seven line ends lie between eight lines: one byte less than a mebibyte.
    EXPECT_EQ(parsed_by(lines + "\n", 1 << 20).front().size(), 9u + 1024 * 1024 - 1);
    EXPECT_EQ(parsed_by(lines + "data\n\n", 1 << 20).front().size(), 9u + 1024 * 1024);
    EXPECT_EQ(parsed_by(lines + "data: x\n\n", 1 << 20), list{"limit"});
}

TEST(event_parser, reads_what_append_event_writes) {
    std::mt19937 dice(1);
    const std::string_view bytes("ab: \r\n\0\xEF\xBB\xBF\xC3", 12);
    const auto text = [&](std::string_view of) {
        std::string all;
        for (auto n = dice() % 12; n != 0; --n) all += of[dice() % of.size()];
        return all;
    };
    std::string stream;
    list expected;
    std::string last_id;
    for (int i = 0; i != 2000; ++i) {
        const std::string id = text("ab: 1");
        const std::string type = text("ab: 1");
        const std::string data = text(bytes);
        server_event e{.event = type};
        if (dice() % 2 != 0) e.id = id;
        if (dice() % 8 != 0) e.data = data;
        stream += written(e);
        if (e.id) last_id = id;
        if (!e.data) continue;
        std::string lines;  // line ends come back as LF
        for (std::size_t at = 0; at != data.size(); ++at) {
            if (data[at] == '\n' && at != 0 && data[at - 1] == '\r') continue;
            lines += data[at] == '\r' ? '\n' : data[at];
        }
        std::string shown = type.empty() ? "message" : type;
        expected.push_back(shown.append("|").append(last_id).append("|").append(lines));
    }
    EXPECT_EQ(parsed(stream), expected);
}
