#include "connect/dialogue.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::connect;
using namespace std::string_literals;

namespace {

using status = dialogue::status;

proxy with_password(proxy_kind k) {
    proxy p(k, "proxy", 1080);
    p.credentials("joe", "secret");
    return p;
}

std::unique_ptr<dialogue> begin(const proxy& p, std::string_view host = "boats",
                                std::uint16_t port = 443) {
    auto d = make_dialogue(p, host, port);
    EXPECT_TRUE(d) << d.error().detail;
    return *std::move(d);
}

std::unique_ptr<dialogue> begin(proxy_kind k, std::string_view host = "boats") {
    return begin(proxy(k, "proxy", 1080), host);
}

/// Takes the current output.
std::string said(dialogue& d) {
    std::string text(d.output());
    d.sent();
    EXPECT_TRUE(d.output().empty());
    return text;
}

/// Gives it all, in pieces of `size`, and forgets what it says; what it has left.
std::string give(dialogue& d, std::string_view bytes, std::size_t size) {
    d.sent();
    while (!bytes.empty() && d.state() == status::talks) {
        const std::size_t n = d.take(bytes.substr(0, size));
        EXPECT_GT(n, 0u);
        bytes.remove_prefix(n);
        d.sent();
    }
    return std::string(bytes);
}

struct ended {
    status state;
    std::error_code code;
    std::string detail;
    std::string left;
    bool operator==(const ended&) const = default;
};

/// How it ends with this response: the same however the response is cut.
ended after_reply(const proxy& p, const std::string& bytes) {
    std::vector<ended> all;
    for (const std::size_t size :
         {bytes.size() + 1, std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
        auto d = begin(p);
        std::string left = give(*d, bytes, size);
        all.push_back({d->state(), d->why().code, d->why().detail, std::move(left)});
        EXPECT_EQ(all.back().state, all.front().state) << size;
        EXPECT_EQ(all.back().code, all.front().code) << size;
        EXPECT_EQ(all.back().detail, all.front().detail) << size;
        const bool is_open = all.front().state == status::open;
        EXPECT_TRUE(!is_open || all.back().left == all.front().left) << size;
    }
    return all.front();
}

ended after_reply(proxy_kind k, const std::string& bytes) {
    return after_reply(proxy(k, "proxy", 1080), bytes);
}

/// Opens with these bytes, not with fewer, and leaves all that is behind them.
void opens_with(const proxy& p, const std::string& bytes) {
    const ended e = after_reply(p, bytes + "\x16hello");
    EXPECT_EQ(e.state, status::open) << e.code.message() << e.detail;
    EXPECT_EQ(e.left, "\x16hello");
    for (std::size_t cut = 0; cut != bytes.size(); ++cut) {
        EXPECT_EQ(after_reply(p, bytes.substr(0, cut)).state, status::talks) << cut;
    }
}

const std::string socks5_reply("\x05\0\0\x01\x7f\0\0\x01\x12\x34", 10);

}  // namespace

TEST(http_dialogue, asks_for_the_target_by_name_and_port) {
    EXPECT_EQ(said(*begin(proxy_kind::http)),
              "CONNECT boats:443 HTTP/1.1\r\nHost: boats:443\r\n\r\n");
    EXPECT_EQ(said(*begin(proxy_kind::https, "2001:db8::1")),
              "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n");
    EXPECT_EQ(said(*begin(with_password(proxy_kind::http))),
              "CONNECT boats:443 HTTP/1.1\r\nHost: boats:443\r\n"
              "Proxy-Authorization: Basic am9lOnNlY3JldA==\r\n\r\n");
}

TEST(http_dialogue, opens_behind_the_head_and_leaves_the_rest) {
    const proxy p(proxy_kind::http, "proxy", 1080);
    opens_with(p, "HTTP/1.1 200 Connection established\r\n\r\n");
    opens_with(p, "HTTP/1.0 299\n\n");
    opens_with(p, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(http_dialogue, passes_over_interim_responses_up_to_a_limit) {
    const std::string interim = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    std::string all;
    for (unsigned i = 0; i != proxy::most_interim; ++i) all += interim;
    EXPECT_EQ(after_reply(proxy_kind::http, all + "HTTP/1.1 200 OK\r\n\r\n").state, status::open);
    const ended e = after_reply(proxy_kind::http, all + interim);
    EXPECT_EQ(e.code, coracle::errc::limit_exceeded);
    EXPECT_NE(e.detail.find("proxy::most_interim"), std::string::npos);
}

TEST(http_dialogue, says_which_status_refused) {
    ended e = after_reply(proxy_kind::http, "HTTP/1.1 503 No \x1b[31mroute\r\nA: b\r\n\r\nbody");
    EXPECT_EQ(e.code, proxy_errc::refused);
    EXPECT_EQ(e.detail, "503 No ?[31mroute");
    e = after_reply(proxy_kind::http, "HTTP/1.1 301 Moved\r\nLocation: http://evil/\r\n\r\n");
    EXPECT_EQ(e.code, proxy_errc::refused);
    EXPECT_EQ(e.detail, "301 Moved");
}

TEST(http_dialogue, says_which_credentials_are_wanted) {
    const std::string reply =
        "HTTP/1.1 407 Proxy Authentication Required\r\n"
        "Proxy-Authenticate: Basic realm=\"a, Fake \\\"x\\\" b\", charset=\"UTF-8\"\r\n"
        "proxy-authenticate: Digest realm = \"q\", qop=\"auth,Other\", Negotiate\r\n\r\n";
    ended e = after_reply(proxy_kind::http, reply);
    EXPECT_EQ(e.code, proxy_errc::credentials_wanted);
    EXPECT_EQ(e.code, std::errc::permission_denied);
    EXPECT_EQ(e.detail, "407 Proxy Authentication Required; it takes Basic, Digest, Negotiate");
    e = after_reply(with_password(proxy_kind::http), reply);
    EXPECT_EQ(e.code, proxy_errc::credentials_refused);
    e = after_reply(with_password(proxy_kind::http), "HTTP/1.0 401 Unauthorized\r\n\r\n");
    EXPECT_EQ(e.code, proxy_errc::credentials_refused);
    EXPECT_EQ(e.detail, "401 Unauthorized");
}

TEST(http_dialogue, takes_folds_of_fields_for_spaces) {
    const proxy p(proxy_kind::http, "proxy", 1080);
    opens_with(p, "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc: d\r\n \r\nY: z\r\n\r\n");
    const ended e =
        after_reply(proxy_kind::http,
                    "HTTP/1.1 407 Wanted\r\nProxy-Authenticate:\r\n Basic realm=\"a\",\r\n"
                    "\tDigest realm=\"b\",\r\n   nonce=\"c\"\r\nX: y\r\n , Negotiate\r\n\r\n");
    EXPECT_EQ(e.detail, "407 Wanted; it takes Basic, Digest");
    for (const char* bytes : {"HTTP/1.1 200 OK\r\n a: b\r\n\r\n",
                              "HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n c\r\n\r\n"}) {
        EXPECT_EQ(after_reply(proxy_kind::http, bytes).code, coracle::errc::protocol_error)
            << bytes;
    }
}

TEST(http_dialogue, refuses_what_is_no_response_of_http) {
    for (const std::string& bytes :
         {"SSH-2.0-x\r\n"s, "HTTP/2 200\r\n\r\n"s, "HTTP/1.1 20\r\n\r\n"s, "HTTP/1.1 2000\r\n\r\n"s,
          "HTTP/1.1  200 OK\r\n\r\n"s, "HTTP/1.x 200 OK\r\n\r\n"s, "HTTP/1.1 600 OK\r\n\r\n"s,
          "HTTP/1.1 099 OK\r\n\r\n"s, "\r\nHTTP/1.1 200 OK\r\n\r\n"s,
          "HTTP/1.1 101 Switching\r\n\r\n"s, "HTTP/1.1 200 OK\r\nno field\r\n\r\n"s,
          "HTTP/1.1 200 OK\r\n: x\r\n\r\n"s, "HTTP/1.1 200 OK\r\na b: x\r\n\r\n"s,
          "HTTP/1.1 200 O\rK\r\n\r\n"s, "HTTP/1.1 200 OK\r\na: \0\r\n\r\n"s}) {
        EXPECT_EQ(after_reply(proxy_kind::http, bytes).code, coracle::errc::protocol_error)
            << bytes;
    }
}

TEST(http_dialogue, refuses_the_first_wrong_byte) {
    auto d = begin(proxy_kind::http);
    d->sent();
    EXPECT_EQ(d->take("HTTP/1"), 6u);
    EXPECT_EQ(d->state(), status::talks);
    d->take("/");
    EXPECT_EQ(d->state(), status::refused);
}

TEST(http_dialogue, takes_a_head_up_to_its_limit_of_bytes) {
    const std::string begin_of_head = "HTTP/1.1 200 OK\r\nX: ";
    const auto head = [&](std::size_t size) {
        return begin_of_head + std::string(size - begin_of_head.size() - 4, 'x') + "\r\n\r\n";
    };
    EXPECT_EQ(after_reply(proxy_kind::http, head(proxy::most_head_bytes)).state, status::open);
    const ended e = after_reply(proxy_kind::http, head(proxy::most_head_bytes + 1));
    EXPECT_EQ(e.code, coracle::errc::limit_exceeded);
    EXPECT_NE(e.detail.find("proxy::most_head_bytes"), std::string::npos);
    EXPECT_EQ(after_reply(proxy_kind::http, begin_of_head + std::string(1 << 20, 'x')).code,
              coracle::errc::limit_exceeded);
}

TEST(http_dialogue, takes_a_head_up_to_its_limit_of_lines) {
    const auto head = [](std::size_t fields) {
        std::string text = "HTTP/1.1 200 OK\r\n";
        for (std::size_t i = 0; i != fields; ++i) text += "a:\r\n";
        return text + "\r\n";
    };
    EXPECT_EQ(after_reply(proxy_kind::http, head(proxy::most_head_lines - 2)).state, status::open);
    const ended e = after_reply(proxy_kind::http, head(proxy::most_head_lines - 1));
    EXPECT_EQ(e.code, coracle::errc::limit_exceeded);
    EXPECT_NE(e.detail.find("proxy::most_head_lines"), std::string::npos);
}

TEST(socks4_dialogue, asks_by_address_and_by_name) {
    EXPECT_EQ(said(*begin(proxy_kind::socks4, "192.0.2.1")), "\x04\x01\x01\xbb\xc0\0\x02\x01\0"s);
    EXPECT_EQ(said(*begin(proxy_kind::socks4a)), "\x04\x01\x01\xbb\0\0\0\x01\0boats\0"s);
    EXPECT_EQ(said(*begin(with_password(proxy_kind::socks4a))),
              "\x04\x01\x01\xbb\0\0\0\x01joe\0boats\0"s);
}

TEST(socks4_dialogue, opens_with_a_reply_of_8_bytes) {
    opens_with(proxy(proxy_kind::socks4a, "proxy", 1080), "\0\x5a\x12\x34\x7f\0\0\x01"s);
}

TEST(socks4_dialogue, says_why_it_was_refused) {
    const auto code = [](char c) {
        return after_reply(proxy_kind::socks4a, "\0"s + c + "123456").code;
    };
    EXPECT_EQ(code('\x5b'), proxy_errc::general_failure);
    EXPECT_EQ(code('\x5c'), proxy_errc::identd_unreachable);
    EXPECT_EQ(code('\x5d'), proxy_errc::identd_mismatch);
    EXPECT_EQ(code('\x5e'), coracle::errc::protocol_error);
    EXPECT_EQ(after_reply(proxy_kind::socks4a, "\x04").code, coracle::errc::protocol_error);
}

TEST(socks5_dialogue, asks_by_name_and_by_address) {
    auto d = begin(proxy_kind::socks5h);
    EXPECT_EQ(said(*d), "\x05\x01\0"s);
    EXPECT_EQ(d->take("\x05\0more"s), 2u);
    EXPECT_EQ(said(*d), "\x05\x01\0\x03\x05"s + "boats\x01\xbb");
    d = begin(proxy_kind::socks5, "192.0.2.1");
    give(*d, "\x05"s, 1);
    d->take("\0"s);
    EXPECT_EQ(said(*d), "\x05\x01\0\x01\xc0\0\x02\x01\x01\xbb"s);
    d = begin(proxy_kind::socks5, "2001:db8::1");
    d->sent();
    d->take("\x05\0"s);
    EXPECT_EQ(said(*d), "\x05\x01\0\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x01\xbb"s);
}

TEST(socks5_dialogue, logs_in_when_the_proxy_wants_that) {
    auto d = begin(with_password(proxy_kind::socks5h));
    EXPECT_EQ(said(*d), "\x05\x02\0\x02"s);
    d->take("\x05\x02"s);
    EXPECT_EQ(said(*d), "\x01\x03joe\x06secret"s);
    d->take("\x01\0"s);
    EXPECT_EQ(said(*d), "\x05\x01\0\x03\x05"s + "boats\x01\xbb");
    opens_with(with_password(proxy_kind::socks5h), "\x05\x02\x01\0"s + socks5_reply);
    opens_with(with_password(proxy_kind::socks5h), "\x05\0"s + socks5_reply);
}

TEST(socks5_dialogue, opens_with_an_address_of_any_kind) {
    const proxy p(proxy_kind::socks5h, "proxy", 1080);
    opens_with(p, "\x05\0"s + socks5_reply);
    opens_with(p, "\x05\0\x05\0\0\x04"s + std::string(18, '\xee'));
    opens_with(p, "\x05\0\x05\0\0\x03\0\x12\x34"s);
    opens_with(p, "\x05\0\x05\0\0\x03\xff"s + std::string(255 + 2, 'n'));
}

TEST(socks5_dialogue, says_why_it_was_refused) {
    const auto code = [](char c) {
        return after_reply(proxy_kind::socks5h, "\x05\0\x05"s + c + "\0\x01"s).code;
    };
    EXPECT_EQ(code(1), proxy_errc::general_failure);
    EXPECT_EQ(code(2), std::errc::permission_denied);
    EXPECT_EQ(code(3), std::errc::network_unreachable);
    EXPECT_EQ(code(4), std::errc::host_unreachable);
    EXPECT_EQ(code(5), std::errc::connection_refused);
    EXPECT_EQ(code(6), proxy_errc::ttl_expired);
    EXPECT_EQ(code(7), std::errc::operation_not_supported);
    EXPECT_EQ(code(8), std::errc::address_family_not_supported);
    EXPECT_EQ(code(9), coracle::errc::protocol_error);
    EXPECT_EQ(code('\xff'), coracle::errc::protocol_error);
}

TEST(socks5_dialogue, says_that_credentials_are_wanted_or_wrong) {
    const proxy p = with_password(proxy_kind::socks5h);
    EXPECT_EQ(after_reply(proxy_kind::socks5h, "\x05\xff").code, proxy_errc::credentials_wanted);
    EXPECT_EQ(after_reply(p, "\x05\xff").code, proxy_errc::credentials_refused);
    EXPECT_EQ(after_reply(p, "\x05\x02\x01\x01").code, proxy_errc::credentials_refused);
}

TEST(socks5_dialogue, refuses_what_is_no_response_of_socks5) {
    const proxy p = with_password(proxy_kind::socks5h);
    for (const std::string& bytes : {"\x04\0"s, "HTTP/1.1 400"s, "\x05\x01"s, "\x05\x02\x05"s,
                                     "\x05\0\x01\0"s, "\x05\0\x05\0\0\x02\0"s}) {
        EXPECT_EQ(after_reply(p, bytes).code, coracle::errc::protocol_error) << bytes;
    }
    // A login that was not offered.
    EXPECT_EQ(after_reply(proxy_kind::socks5h, "\x05\x02").code, coracle::errc::protocol_error);
}

TEST(dialogue, refuses_what_cannot_be_said_before_anything_is_sent) {
    const auto why = [](const proxy& p, std::string_view host) {
        const auto d = make_dialogue(p, host, 80);
        return d ? "said" : d.error().code.message() + ": " + d.error().detail;
    };
    const std::string invalid = std::make_error_code(std::errc::invalid_argument).message() + ": ";
    for (const proxy_kind k : {proxy_kind::http, proxy_kind::https, proxy_kind::socks4a,
                               proxy_kind::socks5, proxy_kind::socks5h}) {
        const proxy p(k, "proxy", 1);
        EXPECT_EQ(why(p, std::string(255, 'n')), "said");
        EXPECT_EQ(why(p, std::string(256, 'n')), invalid + "a name over 255 bytes");
        EXPECT_EQ(why(p, ""), invalid + "this is no host name");
        EXPECT_EQ(why(p, "a\r\nb"), invalid + "this is no host name");
        EXPECT_EQ(why(p, "a\0b"s), invalid + "this is no host name");
    }
    const std::string no_v6 = "the proxy knows no such addresses: SOCKS4 is for IPv4";
    EXPECT_EQ(why(proxy(proxy_kind::socks4, "p", 1), "boats"), no_v6);
    EXPECT_EQ(why(proxy(proxy_kind::socks4a, "p", 1), "::1"), no_v6);
    const auto log_in = [&](proxy_kind k, std::string user, const std::string& password) {
        proxy p(k, "proxy", 1);
        p.credentials(std::move(user), password);
        return why(p, "boats");
    };
    const std::string full(255, 'u');
    EXPECT_EQ(log_in(proxy_kind::socks5, full, full), "said");
    EXPECT_NE(log_in(proxy_kind::socks5, full + 'u', ""), "said");
    EXPECT_NE(log_in(proxy_kind::socks5, "", full + 'u'), "said");
    EXPECT_NE(log_in(proxy_kind::socks4a, "a\0b"s, ""), "said");
    EXPECT_NE(log_in(proxy_kind::http, "a:b", ""), "said");
}
