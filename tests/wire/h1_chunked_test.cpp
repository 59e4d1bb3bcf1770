#include "h1_cuts.hpp"

#include <coracle/http/h1/chunked_decoder.hpp>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

using namespace coracle::http::h1;
using namespace coracle::http::h1::test;
using namespace std::literals;

namespace {

using enum parse_error;

struct outcome {
    chunk_status status = chunk_status::need_more;
    parse_error error = none;
    std::size_t consumed = 0;
    std::string data;
    std::string trailers;

    friend bool operator==(const outcome&, const outcome&) = default;
};

std::ostream& operator<<(std::ostream& out, const outcome& value) {
    return out << "status " << static_cast<int>(value.status) << ", " << describe(value.error)
               << ", " << value.consumed << " <" << value.data << "> " << value.trailers;
}

// Feeds pieces that end at `first`, `first + step`, ... and the end.
outcome decode(std::string_view bytes, std::size_t first, std::size_t step,
               const chunk_limits& limits) {
    chunked_decoder decoder{limits};
    outcome result;
    std::size_t begin = 0;
    for (std::size_t end = first;; end += step) {
        end = std::min(end, bytes.size());
        const exact_copy piece{bytes.substr(begin, end - begin)};
        std::string_view in = piece.view();
        begin = end;
        for (;;) {
            const chunk_event event = decoder.decode(in);
            result.consumed += event.consumed;
            result.data += event.data;
            result.status = event.status;
            result.error = event.error;
            in.remove_prefix(event.consumed);
            if (event.status != chunk_status::data) {
                break;
            }
            EXPECT_FALSE(event.data.empty());
        }
        if (result.status == chunk_status::error) {
            result.consumed = 0;
            return result;
        }
        if (result.status == chunk_status::end) {
            for (const head_field& field : decoder.trailers()) {
                result.trailers.append(field.name).append("=").append(field.value).append(";");
            }
            return result;
        }
        EXPECT_TRUE(in.empty());
        if (end == bytes.size()) {
            return result;
        }
    }
}

outcome decode_every_way(std::string_view bytes, const chunk_limits& limits = {}) {
    const outcome whole = decode(bytes, bytes.size(), 1, limits);
    EXPECT_EQ(decode(bytes, 1, 1, limits), whole) << "byte by byte: " << bytes;
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
        EXPECT_EQ(decode(bytes, cut, bytes.size() + 1, limits), whole)
            << "cut at " << cut << ": " << bytes;
    }
    return whole;
}

struct accepted {
    std::string_view bytes;
    std::string_view data;
    std::string_view trailers;
};

constexpr accepted good_bodies[] = {
    {"0\r\n\r\n", "", ""},
    {"0000\r\n\r\n", "", ""},
    // Fields that only a head may hold are left out.
    {"0\r\nContent-Length: 5\r\nX: y\r\n\r\n", "", "X=y;"},
    {"0\r\nX: y\r\nTRANSFER-ENCODING: chunked\r\nhost: a\r\nAuthorization: a\r\n\r\n", "", "X=y;"},
    {"5\r\nhello\r\n0\r\n\r\n", "hello", ""},
    {"5\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\n\r\nrest", "hello 0123456789", ""},
    {"a\r\n0123456789\r\n0\r\n\r\n", "0123456789", ""},
    {"0000000000000001\r\nx\r\n0\r\n\r\n", "x", ""},
    {"4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", ""},
    {"1;a\r\nx\r\n0;b=c;d=\"e;\\\"\t\"\r\n\r\n", "x", ""},
    {"1 ; a = b ; c\r\nx\r\n0\r\n\r\n", "x", ""},
    {"0\r\nX: y\r\nEtag:  \"z\" \r\n\r\nnext", "", "X=y;Etag=\"z\";"},
};

struct refused {
    std::string_view bytes;
    parse_error error;
};

/// Returns the data of a body that arrives in pieces of this size, or "failed".
std::string decoded_leniently(std::string_view body, std::size_t piece) {
    chunked_decoder decoder({}, true);
    std::string data;
    while (!body.empty()) {
        std::string_view some = body.substr(0, piece);
        body.remove_prefix(some.size());
        while (!some.empty()) {
            const chunk_event e = decoder.decode(some);
            if (e.status == chunk_status::error) return "failed";
            some.remove_prefix(e.consumed);
            data += e.data;
            if (e.status == chunk_status::end)
                return data + '|' + std::string(some) + std::string(body);
            if (e.status == chunk_status::need_more) break;
        }
    }
    return data + "...";
}

constexpr refused bad_bodies[] = {
    {"\r\n", bad_chunk_size},
    {"\n", bad_chunk_line},
    {"g\r\n", bad_chunk_size},
    {" 5\r\nhello", bad_chunk_size},
    {"\t5\r\n", bad_chunk_size},
    {"-5\r\n", bad_chunk_size},
    {"+5\r\n", bad_chunk_size},
    {"0x5\r\n", bad_chunk_size},
    {"5_0\r\n", bad_chunk_size},
    {"5,5\r\n", bad_chunk_size},
    {"5\0\r\n"sv, bad_chunk_size},
    {"5\xff\r\n", bad_chunk_size},
    {";a\r\n", bad_chunk_size},
    {"5\n", bad_chunk_line},
    {"5\rX", bad_chunk_line},
    {"5\r\r\n", bad_chunk_line},
    {"5 \r\n", bad_chunk_line},
    {"5\t \t\r\nhello", bad_chunk_line},
    {"5 5\r\n", bad_chunk_extension},
    {"5;\r\n", bad_chunk_extension},
    {"5;a \r\n", bad_chunk_line},
    {"5;a=b \r\n", bad_chunk_line},
    {"5;a=\"b\" \r\n", bad_chunk_line},
    {"5; \r\n", bad_chunk_extension},
    {"5;a=\r\n", bad_chunk_extension},
    {"5;a=\"\r\n", bad_chunk_extension},
    {"5;a=\"b\"c\r\n", bad_chunk_extension},
    {"5;a\nhello", bad_chunk_line},
    {"5;a=\"\n\"\r\n", bad_chunk_line},
    {"5;a=\"\\\n\"\r\n", bad_chunk_line},
    {"5;a\0\r\n"sv, bad_chunk_extension},
    {"5;\xff\r\n", bad_chunk_extension},
    {"10000000000000000\r\n", chunk_size_overflow},
    {"00000000000000001\r\n", chunk_size_overflow},
    {"8000000000000000\r\n", chunk_size_overflow},
    {"ffffffffffffffff\r\n", chunk_size_overflow},
    {"1\r\nx\r\n7fffffffffffffff\r\n", chunk_size_overflow},
    {"5\r\nhelloX", bad_chunk_end},
    {"5\r\nhello \n0\r\n\r\n", bad_chunk_end},
    {"5\r\nhello \r\n0\r\n\r\n", bad_chunk_end},
    {"5\r\nhello\n", bad_chunk_end},
    {"5\r\nhello\rX", bad_chunk_end},
    {"5\r\nhello0\r\n\r\n", bad_chunk_end},
    {"5\r\nhell\r\n0\r\n\r\n", bad_chunk_end},
    {"0\r\n\n", bare_line_feed},
    {"0\r\n\rX", bare_carriage_return},
    {"0\r\n x: y\r\n", folded_field},
    {"0\r\nx : y\r\n", space_before_colon},
    {"0\r\nx: y\n", bare_line_feed},
    {"0\r\nGET / HTTP/1.1\r\n", space_before_colon},
};

}  // namespace

TEST(chunked_decoder, gives_the_data_and_the_trailers) {
    for (const accepted& entry : good_bodies) {
        const outcome result = decode_every_way(entry.bytes);
        EXPECT_EQ(result.status, chunk_status::end) << entry.bytes << describe(result.error);
        EXPECT_EQ(result.data, entry.data);
        EXPECT_EQ(result.trailers, entry.trailers);
        EXPECT_TRUE(entry.bytes.substr(0, result.consumed).ends_with("\r\n\r\n")) << entry.bytes;
    }
}

TEST(chunked_decoder, leaves_what_follows_the_body_alone) {
    EXPECT_EQ(decode_every_way("5\r\nhello\r\n0\r\n\r\nGET /").consumed, 15U);
}

TEST(chunked_decoder, refuses_each_malformed_body_for_its_reason) {
    for (const refused& entry : bad_bodies) {
        const outcome result = decode_every_way(entry.bytes);
        EXPECT_EQ(result.status, chunk_status::error) << entry.bytes;
        EXPECT_EQ(result.error, entry.error) << entry.bytes << describe(result.error);
    }
}

// Each byte of the framing that has no choice, in all 255 wrong ways.
TEST(chunked_decoder, takes_no_other_byte_for_one_at_the_end_of_a_line_or_of_data) {
    constexpr std::string_view good = "5\r\nhello\r\n0\r\n\r\n";
    for (const std::size_t at : {2U, 8U, 9U, 12U}) {
        for (int byte = 0; byte != 256; ++byte) {
            std::string text(good);
            text[at] = static_cast<char>(byte);
            // Behind the wrong byte comes whatever would make sense of the rest.
            for (const std::string_view rest : {good.substr(at + 1), good.substr(at + 2)}) {
                const std::string bytes = text.substr(0, at + 1) + std::string(rest);
                if (bytes == good) continue;
                EXPECT_NE(decode(bytes, bytes.size(), 1, {}).status, chunk_status::end) << bytes;
            }
        }
    }
}

TEST(chunked_decoder, wants_more_until_the_last_byte) {
    for (const accepted& entry : good_bodies) {
        const std::size_t size = decode(entry.bytes, entry.bytes.size(), 1, {}).consumed;
        for (std::size_t cut = 0; cut < size; ++cut) {
            const outcome result = decode(entry.bytes.substr(0, cut), cut, 1, {});
            EXPECT_EQ(result.status, chunk_status::need_more) << entry.bytes.substr(0, cut);
            EXPECT_EQ(result.consumed, cut);
        }
    }
}

TEST(chunked_decoder, stays_failed_until_it_is_reset) {
    chunked_decoder decoder;
    EXPECT_EQ(decoder.decode("x").error, bad_chunk_size);
    EXPECT_EQ(decoder.decode("0\r\n\r\n").error, bad_chunk_size);
    decoder.reset();
    EXPECT_EQ(decoder.decode("0\r\n\r\n").status, chunk_status::end);
}

TEST(chunked_decoder, copies_no_data) {
    chunked_decoder decoder;
    const std::string_view in = "5\r\nhello\r\n";
    const chunk_event event = decoder.decode(in);
    EXPECT_EQ(event.data.data(), in.data() + 3);
    EXPECT_EQ(event.consumed, 8U);
    EXPECT_EQ(decoder.announced(), 5U);
}

TEST(chunked_decoder, limits_the_length_of_a_size_line) {
    const auto body = [](std::size_t line) {
        return "0;" + std::string(line - 2, 'a') + "\r\n\r\n";
    };
    EXPECT_EQ(decode(body(255), 1, 1, {}).status, chunk_status::end);
    EXPECT_EQ(decode(body(256), 1, 1, {}).status, chunk_status::end);
    EXPECT_EQ(decode(body(257), 1, 1, {}).error, chunk_line_too_long);
}

TEST(chunked_decoder, limits_the_overhead_of_a_body) {
    // Line and two CRLF make 24 bytes, 18 are free for a chunk of one byte: 6 too many each.
    const chunk_limits limits{.overhead = 60};
    std::string body;
    for (int i = 0; i < 10; ++i) {
        body += "1;aaaaaaaaaaaaaaaaaa\r\nx\r\n";
    }
    EXPECT_EQ(decode_every_way(body + "0\r\n\r\n", limits).status, chunk_status::end);
    EXPECT_EQ(decode_every_way(body + "1;aaaaaaaaaaaaaaaaaa\r\nx\r\n", limits).error,
              too_much_chunk_overhead);
    std::string tiny;
    for (int i = 0; i < 10000; ++i) {
        tiny += "1\r\nx\r\n";
    }
    EXPECT_EQ(decode(tiny + "0\r\n\r\n", 4096, 4096, {}).data.size(), 10000U);
}

TEST(chunked_decoder, stops_reading_extensions_at_sixteen_kilobytes) {
    std::string body;
    for (int i = 0; i < 100; ++i) {
        body += "1;" + std::string(250, 'a') + "\r\nx\r\n";
    }
    const outcome result = decode(body, 1000, 1000, {});
    EXPECT_EQ(result.error, too_much_chunk_overhead);
    EXPECT_EQ(result.data.size(), 68U);  // 240 - 2 too many each, 68 of them are below 16384
}

TEST(chunked_decoder, limits_the_trailers) {
    const chunk_limits limits{.trailers = 20, .trailer_fields = 2};
    EXPECT_EQ(decode_every_way("0\r\nX: 34567890123456\r\n\r\n", limits).error, trailers_too_large);
    EXPECT_EQ(decode_every_way("0\r\nX: 3456789012345\r\n\r\n", limits).status, chunk_status::end);
    EXPECT_EQ(decode_every_way("0\r\nX: 345678901234\r\n\r\n", limits).status, chunk_status::end);
    EXPECT_EQ(decode_every_way("0\r\na:\r\nb:\r\n\r\n", limits).status, chunk_status::end);
    EXPECT_EQ(decode_every_way("0\r\na:\r\nb:\r\nc:\r\n\r\n", limits).error, too_many_trailers);
    EXPECT_EQ(decode_every_way("0\r\nan-endless-name-without-an-end", limits).error,
              trailers_too_large);
}

TEST(chunked_decoder, accepts_what_old_servers_send_where_it_is_told_to) {
    constexpr std::pair<std::string_view, std::string_view> bodies[] = {
        {"5 \r\nhello\r\n0\t\r\n\r\nnext", "hello|next"},
        {"5\nhello\n0\n\nnext", "hello|next"},
        {"5 \nhello\r\n0;a=b \n\r\nnext", "hello|next"},
        {"5;a=\"b\" \nhello\n0\r\nX: y\r\n\r\nnext", "hello|next"},
        {"5\r\nhello\r\n0\r\n\r\nnext", "hello|next"},
        {"\n5\nhello", "failed"},
        {"5\n\nello\n", "\nello..."},
        {"5\nhelloX", "failed"},
        {"5;\nhello", "failed"},
        {"5;a=\nhello", "failed"},
        {"5;a=\"\n", "failed"},
        {"5 5\nhello", "failed"},
        {"5\r\r\nhello", "failed"},
        {"5\nhello\r\r\n0", "failed"},
        {"0\nX: y\n\n", "failed"},
    };
    for (const auto& [body, data] : bodies) {
        for (const std::size_t piece : {1UZ, 2UZ, 3UZ, 100UZ}) {
            EXPECT_EQ(decoded_leniently(body, piece), data) << body << " in pieces of " << piece;
        }
    }
}
