// Bodies by their framing: the same content and the same rest, however the bytes are cut.
#include "http/h1/body_decoder.hpp"

#include <coracle/base/buffer.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <string>
#include <string_view>

namespace coracle::http::h1 {
namespace {

struct outcome {
    std::string content;
    std::string rest;
    std::string trailers;
    bool complete = false;
    parse_error error = parse_error::none;

    friend bool operator==(const outcome&, const outcome&) = default;
    friend std::ostream& operator<<(std::ostream& out, const outcome& o) {
        return out << '<' << o.content << "> rest <" << o.rest << "> " << o.trailers
                   << (o.complete ? " complete " : " open ") << describe(o.error);
    }
};

void add(buffer& input, std::string_view bytes) {
    input.reserve_spare(bytes.size());
    std::memcpy(input.spare(), bytes.data(), bytes.size());
    input.commit(bytes.size());
}

// Takes what there is; false: a fault.
bool take(body_decoder& body, buffer& input, outcome& o) {
    for (;;) {
        const auto piece = body.next(input);
        if (!piece) {
            o.error = piece.error();
            return false;
        }
        if (piece->empty()) return true;
        o.content += *piece;
    }
}

outcome decode(body_framing framing, std::uint64_t length, std::string_view wire, std::size_t cut) {
    buffer input(64);
    body_decoder body;
    body.begin(framing, length, {.line = 16});
    outcome o;
    for (const std::string_view part : {wire.substr(0, cut), wire.substr(cut)}) {
        add(input, part);
        if (!take(body, input, o)) return o;
    }
    o.rest = input.view();
    o.complete = body.complete();
    for (const head_field& f : body.trailers()) o.trailers.append(f.name).append(f.value);
    return o;
}

struct row {
    body_framing framing;
    std::uint64_t length;
    std::string_view wire;
    outcome wanted;
};

TEST(h1_body, ends_by_its_framing_however_it_is_cut) {
    const row rows[] = {
        {body_framing::none, 0, "next", {"", "next", "", true}},
        {body_framing::length, 4, "bodynext", {"body", "next", "", true}},
        {body_framing::length, 6, "body", {"body", "", "", false}},
        {body_framing::until_close, 0, "all of it", {"all of it", "", "", false}},
        {body_framing::chunked,
         0,
         "4\r\nbody\r\n1\r\n!\r\n0\r\n\r\nnext",
         {"body!", "next", "", true}},
        {body_framing::chunked, 0, "1\r\nb\r\n0\r\nA: 1\r\n\r\n", {"b", "", "A1", true}},
        {body_framing::chunked, 0, "4\r\nbo", {"bo", "", "", false}},
    };
    for (const row& r : rows) {
        for (std::size_t cut = 0; cut <= r.wire.size(); ++cut) {
            EXPECT_EQ(decode(r.framing, r.length, r.wire, cut), r.wanted)
                << r.wire << " cut at " << cut;
        }
    }
}

TEST(h1_body, has_the_limits_of_its_chunks) {
    EXPECT_EQ(decode(body_framing::chunked, 0, "1;a=0123456789ab\r\nb\r\n", 5).error,
              parse_error::none);
    EXPECT_EQ(decode(body_framing::chunked, 0, "1;a=0123456789abc\r\nb\r\n", 5).error,
              parse_error::chunk_line_too_long);
    EXPECT_EQ(decode(body_framing::chunked, 0, "x\r\n", 0).error, parse_error::bad_chunk_size);
}

TEST(h1_body, knows_what_is_left) {
    buffer input(64);
    add(input, "body");
    body_decoder body;
    body.begin(body_framing::length, 6);
    EXPECT_EQ(body.left(), 6u);
    EXPECT_EQ(body.next(input), "body");
    EXPECT_EQ(body.left(), 2u);
    EXPECT_FALSE(body.complete());
    body.begin(body_framing::chunked, 0);
    EXPECT_EQ(body.left(), std::nullopt);
    body.end();
    EXPECT_EQ(body.left(), 0u);
    body.begin(body_framing::until_close, 0);
    EXPECT_EQ(body.left(), std::nullopt);
    EXPECT_TRUE(body.ends_with_connection());
}

TEST(h1_body, is_taken_whole_only_where_it_is_there_and_fits) {
    buffer input(64);
    add(input, "bodynext");
    body_decoder body;
    body.begin(body_framing::length, 4);
    EXPECT_EQ(body.take_whole(input, 3), std::nullopt);
    EXPECT_EQ(body.take_whole(input, 4), "body");
    EXPECT_TRUE(body.complete());
    body.give_back(input);
    EXPECT_EQ(input.view(), "next");
    body.begin(body_framing::length, 5);
    EXPECT_EQ(body.take_whole(input, 100), std::nullopt);
    body.begin(body_framing::chunked, 0);
    EXPECT_EQ(body.take_whole(input, 100), std::nullopt);
}

}  // namespace
}  // namespace coracle::http::h1
