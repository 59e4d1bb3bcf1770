#include "http/server/h2c_offer.hpp"

#include <coracle/http/h1/head_parser.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

using namespace coracle::http;
using coracle::http::detail::h2c_offer;
using coracle::http::detail::read_h2c_offer;

namespace {

/// Returns the offer of a request with these bytes as text; "none" if it makes none.
std::string offer_of(const std::string& bytes) {
    h1::request_head head;
    h1::request_parser parser;
    if (parser.parse(bytes, head).status != h1::parse_status::complete) return "no request";
    const auto offer = read_h2c_offer(head);
    if (!offer) return "none";
    std::string text(offer->request.method_text);
    text.append(" ").append(offer->request.path).append(" ").append(offer->request.authority);
    for (const field& f : offer->request.fields) {
        text.append(" ").append(f.name).append("=").append(f.value);
    }
    return text + " " + std::to_string(offer->settings.size());
}

std::string head_with(const std::string& fields, std::string_view line = "GET /a?b HTTP/1.1") {
    return std::string(line) + "\r\nHost: h:1\r\n" + fields + "\r\n";
}

constexpr const char* good =
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n";

}  // namespace

TEST(h2c_offer, has_the_request_and_the_settings) {
    EXPECT_EQ(offer_of(head_with(good)), "GET /a?b h:1 host=h:1 12");
    EXPECT_EQ(offer_of(head_with(good, "OPTIONS * HTTP/1.1")), "OPTIONS * h:1 host=h:1 12");
    EXPECT_EQ(offer_of(head_with("connection: http2-settings\r\nConnection: upgrade\r\n"
                                 "UPGRADE: H2C\r\nhttp2-settings: \r\n")),
              "GET /a?b h:1 host=h:1 0");
}

TEST(h2c_offer, leaves_fields_of_the_connection_behind) {
    EXPECT_EQ(offer_of(head_with(std::string(good) +
                                 "X-Kept: Yes\r\nKeep-Alive: 5\r\nConnection: x-hop\r\n"
                                 "X-Hop: 1\r\nContent-Length: 0\r\nPriority: u=1\r\n")),
              "GET /a?b h:1 host=h:1 x-kept=Yes content-length=0 priority=u=1 12");
}

TEST(h2c_offer, counts_the_bytes_of_its_fields) {
    h1::request_head head;
    h1::request_parser parser;
    const std::string bytes = head_with(std::string(good) + "Abc: de\r\n");
    parser.parse(bytes, head);
    auto offer = read_h2c_offer(head);
    ASSERT_TRUE(offer.has_value());
    // Host: h:1 and Abc: de, and what HTTP/2 has as pseudo-fields: GET, /a?b, h:1.
    EXPECT_EQ(offer->request.cost, (4U + 3 + 32) + (3 + 2 + 32) + (3 + 4 + 3 + 3 * 32));
    h2c_offer moved = std::move(*offer);
    EXPECT_EQ(moved.request.fields.at(1).name, "abc");
}

TEST(h2c_offer, is_none_where_it_cannot_be_accepted) {
    const std::string settings = "HTTP2-Settings: AAMAAABk\r\n";
    const std::string both = "Connection: Upgrade, HTTP2-Settings\r\n";
    const std::string rows[] = {
        head_with(""),
        head_with(both + "Upgrade: h2c\r\n"),
        head_with(both + "Upgrade: h2c\r\n" + settings + settings),
        head_with(both + "Upgrade: h2c\r\nHTTP2-Settings: AAMAAAA\r\n"),    // not of six bytes each
        head_with(both + "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk=\r\n"),  // padded
        head_with(both + "Upgrade: h2c\r\nHTTP2-Settings: AAMA/ABk\r\n"),   // another alphabet
        head_with(both + "Upgrade: websocket, h2c\r\n" + settings),         // a choice
        head_with(both + "Upgrade: h2c\r\nUpgrade: websocket\r\n" + settings),
        head_with(both + "Upgrade: h2\r\n" + settings),                   // HTTP/2 over TLS
        head_with("Connection: Upgrade\r\nUpgrade: h2c\r\n" + settings),  // meant for a proxy
        head_with("Connection: HTTP2-Settings\r\nUpgrade: h2c\r\n" + settings),
        head_with(good, "GET /a HTTP/1.0"),
        head_with(good, "GET http://h:1/a HTTP/1.1"),
        head_with(good, "CONNECT h:1 HTTP/1.1"),
        head_with(std::string(good) + "Content-Length: 1\r\n", "POST / HTTP/1.1"),
        head_with(std::string(good) + "Transfer-Encoding: chunked\r\n", "POST / HTTP/1.1"),
        head_with(std::string(good) + "Connection: " + std::string(1024, ',') + "\r\n"),
    };
    for (const std::string& row : rows) EXPECT_EQ(offer_of(row), "none") << row;
}
