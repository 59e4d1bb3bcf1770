#include <coracle/smtp/reply.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle::smtp;

namespace {

/// Returns the replies in a text that comes in pieces.
std::string read(std::string_view text, std::size_t step, const reply_limits& limits = {}) {
    reply_parser parser(limits);
    std::string out;
    while (!text.empty()) {
        const auto r = parser.parse(text.substr(0, step));
        text.remove_prefix(r.consumed);
        if (r.fault == reply_fault::malformed) return out + "malformed";
        if (r.fault == reply_fault::line_too_long) return out + "line too long";
        if (r.fault == reply_fault::too_many_lines) return out + "too many lines";
        if (r.complete) {
            const reply said = parser.take();
            out += std::to_string(said.code) + '[' + said.enhanced.to_string() + ']';
            for (const std::string& line : said.lines) out += line + '|';
            out += ' ';
        }
    }
    return parser.begun() ? out + "..." : out;
}

}  // namespace

TEST(reply_parser, reads_replies_at_any_cut) {
    const struct {
        const char* text;
        const char* wanted;
    } rows[] = {
        {"250 ok\r\n", "250[]ok| "},
        {"250\r\n", "250[]| "},
        {"250 \r\n", "250[]| "},
        {"250 ok\n", "250[]ok| "},
        {"250-a\r\n250-b\r\n250 c\r\n", "250[]a|b|c| "},
        {"250-a\r\n250\r\n", "250[]a|| "},
        {"250 2.1.0 ok\r\n550 5.7.1 no\r\n", "250[2.1.0]ok| 550[5.7.1]no| "},
        {"550-5.1.1 no\r\n550 5.1.1 such\r\n", "550[5.1.1]no|such| "},
        {"550 5.7.512 no\r\n", "550[5.7.512]no| "},
        {"550 5.1.1\r\n", "550[5.1.1]| "},
        {"550 4.1.1 no\r\n", "550[]4.1.1 no| "},
        {"550 5.1 no\r\n", "550[]5.1 no| "},
        {"550 5.1.1x no\r\n", "550[]5.1.1x no| "},
        {"250 192.0.2.1 ok\r\n", "250[]192.0.2.1 ok| "},
        {"354 go\r\n250 ok\r\n2", "354[]go| 250[]ok| ..."},
        {"250-a\r\n251 b\r\n", "malformed"},
        {"250_a\r\n", "malformed"},
        {"25 a\r\n", "malformed"},
        {"2500 a\r\n", "malformed"},
        {"150 a\r\n", "malformed"},
        {"650 a\r\n", "malformed"},
        {"hello\r\n", "malformed"},
        {"\r\n", "malformed"},
        {"250 a\rb\r\n", "malformed"},
    };
    for (const auto& row : rows) {
        const std::string_view text = row.text;
        EXPECT_EQ(read(text, text.size()), row.wanted) << text;
        for (std::size_t step = 1; step < text.size(); ++step) {
            EXPECT_EQ(read(text, step), row.wanted) << text << " by " << step;
        }
    }
    using namespace std::string_view_literals;
    EXPECT_EQ(read("250 a\0b\r\n"sv, 3), "malformed");
}

TEST(reply_parser, has_limits) {
    const reply_limits limits{.line = 10, .lines = 3};
    EXPECT_EQ(read("250 1234\r\n", 3, limits), "250[]1234| ");
    EXPECT_EQ(read("250 12345\r\n", 3, limits), "line too long");
    EXPECT_EQ(read("250 123456", 3, limits), "line too long");
    EXPECT_EQ(read("250-a\r\n250-b\r\n250 c\r\n", 3, limits), "250[]a|b|c| ");
    EXPECT_EQ(read("250-a\r\n250-b\r\n250-c\r\n250 d\r\n", 3, limits), "too many lines");
}

TEST(reply_parser, consumes_no_byte_behind_a_reply) {
    reply_parser parser;
    const auto r = parser.parse("220 go\r\n250 injected\r\n");
    EXPECT_TRUE(r.complete);
    EXPECT_EQ(r.consumed, 8u);
}

TEST(read_capabilities, knows_what_servers_say) {
    reply r;
    r.code = 250;
    r.lines = {"mx.example.org at your service",
               "SIZE 35882577",
               "8BITMIME",
               "starttls",
               "ENHANCEDSTATUSCODES",
               "PIPELINING",
               "CHUNKING",
               "BINARYMIME",
               "SMTPUTF8",
               "DSN",
               "REQUIRETLS",
               "AUTH LOGIN plain  XOAUTH2",
               "AUTH=LOGIN CRAM-MD5",
               "X-WHATEVER 1"};
    const capabilities c = read_capabilities(r);
    EXPECT_TRUE(c.extended && c.pipelining && c.eight_bit && c.utf8 && c.chunking && c.binary &&
                c.dsn && c.enhanced_codes && c.starttls && c.require_tls && c.size);
    EXPECT_EQ(c.largest, 35882577u);
    EXPECT_EQ(c.mechanisms, (std::vector<std::string>{"LOGIN", "PLAIN", "XOAUTH2", "CRAM-MD5"}));
    EXPECT_TRUE(c.offers("PLAIN"));
    EXPECT_FALSE(c.offers("SCRAM-SHA-256"));
    r.lines = {"PIPELINING", "SIZE", "SIZE x"};
    const capabilities d = read_capabilities(r);
    EXPECT_FALSE(d.pipelining) << "the first line is a name";
    EXPECT_TRUE(d.size);
    EXPECT_EQ(d.largest, 0u);
}
