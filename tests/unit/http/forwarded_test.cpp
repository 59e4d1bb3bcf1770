#include <coracle/http/forwarded.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>

using namespace coracle;
using namespace coracle::http;

namespace {

std::string node(std::string_view text) {
    const auto a = parse_forwarded_node(text);
    return a ? a->to_string() : "none";
}

std::string elements(std::string_view line) {
    const auto all = parse_forwarded(line);
    if (!all) return "malformed";
    std::string text;
    for (const auto& e : *all) {
        text += '[' + e.for_node + '|' + e.by_node + '|' + e.host + '|' + e.proto + ']';
    }
    return text;
}

/// A request of `peer` and what a middleware makes of it.
struct asked {
    explicit asked(std::string_view from) : peer(*net::parse_ip(from, 1234)) {
        request::parts p;
        p.peer = &peer;
        p.host = "inner.example";
        req.assign(p);
    }
    asked& field(std::string_view name, std::string_view value) {
        req.fields().add(name, value);
        return *this;
    }
    /// "address scheme host proxies", or the status of a refusal.
    std::string through(const trust_proxies& trust) {
        const handler h = trust(handler([](request&) { return "reached"; }));
        task<response> none;
        EXPECT_TRUE(h.call(req, res, none));
        if (res.body().bytes() != "reached") {
            return std::to_string(static_cast<int>(res.status()));
        }
        const auto* info = req.data<client_info>();
        return req.client().host() + ' ' + std::string(client_scheme(req)) + ' ' +
               std::string(client_host(req)) + ' ' +
               (info == nullptr ? "-" : std::to_string(info->proxies)) +
               (info != nullptr && info->hidden ? " hidden" : "");
    }
    net::address peer;
    request req;
    response res;
};

const trust_proxies ours{"10.0.0.0/8", "::1"};
const trust_proxies ours_forwarded({"10.0.0.0/8"}, {.fields = forwarding_fields::forwarded});
const trust_proxies ours_with_host({"10.0.0.0/8"}, {.forwarded_host = true});

TEST(forwarded, nodes_are_addresses_with_and_without_ports) {
    EXPECT_EQ(node("192.0.2.1"), "192.0.2.1:0");
    EXPECT_EQ(node("192.0.2.1:80"), "192.0.2.1:80");
    EXPECT_EQ(node("192.0.2.1:_hidden"), "192.0.2.1:0");
    EXPECT_EQ(node("[2001:db8::1]"), "[2001:db8::1]:0");
    EXPECT_EQ(node("[2001:db8::1]:443"), "[2001:db8::1]:443");
    EXPECT_EQ(node("2001:db8::1"), "[2001:db8::1]:0");
    for (const char* text : {"", "unknown", "_gazonk", "[192.0.2.1]", "192.0.2.1:", "192.0.2.1:x",
                             "192.0.2.1:65536", "192.0.2.256", "[::1", "::1]:80", "[::1]x:80",
                             "192.0.2.1 ", "[fe80::1%1]", "192.0.2.1:_"}) {
        EXPECT_EQ(node(text), "none") << text;
    }
}

TEST(forwarded, a_field_is_read_as_rfc_7239_says) {
    EXPECT_EQ(elements("for=\"_gazonk\""), "[_gazonk|||]");
    EXPECT_EQ(elements("For=\"[2001:db8:cafe::17]:4711\""), "[[2001:db8:cafe::17]:4711|||]");
    EXPECT_EQ(elements("for=192.0.2.60;proto=http;by=203.0.113.43"),
              "[192.0.2.60|203.0.113.43||http]");
    EXPECT_EQ(elements("for=192.0.2.43, for=198.51.100.17;host=a.org"),
              "[192.0.2.43|||][198.51.100.17||a.org|]");
    EXPECT_EQ(elements("for=\"a, b;c\\\"\";ext=1 , ,, for=d;"), "[a, b;c\"|||][d|||]");
    EXPECT_EQ(elements(""), "");
    EXPECT_EQ(elements(";"), "[|||]");
}

TEST(forwarded, a_malformed_field_is_refused) {
    for (const char* line :
         {"for", "for=", "=a", "for=a b", "for=\"a", "for=\"a\\", "for=a;for=b", "for=a;FOR=b",
          "for= a", "for =a", "for=[::1]", "for=a:80", "for=a\"b\""}) {
        EXPECT_EQ(elements(line), "malformed") << line;
    }
}

TEST(forwarded, the_number_of_elements_has_a_limit) {
    const auto line = [](std::size_t n) {
        std::string text;
        for (std::size_t i = 0; i != n; ++i) text += "for=a,";
        return parse_forwarded(text);
    };
    EXPECT_EQ(line(99)->size(), 99u);
    EXPECT_EQ(line(100)->size(), 100u);
    EXPECT_FALSE(line(101).has_value());
}

TEST(trust_proxies, nothing_is_believed_of_a_peer_that_is_not_trusted) {
    EXPECT_EQ(asked("203.0.113.9")
                  .field("X-Forwarded-For", "192.0.2.1")
                  .field("X-Forwarded-Proto", "https")
                  .through(ours),
              "203.0.113.9 http inner.example -");
    EXPECT_EQ(asked("203.0.113.9").field("X-Forwarded-For", "rubbish").through(ours),
              "203.0.113.9 http inner.example -");
    EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", "192.0.2.1").through(trust_proxies({})),
              "10.0.0.1 http inner.example -");
}

TEST(trust_proxies, the_client_is_the_first_from_the_right_that_is_not_trusted) {
    EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", "192.0.2.1").through(ours),
              "192.0.2.1 http inner.example 1");
    EXPECT_EQ(asked("::1").field("X-Forwarded-For", "192.0.2.1, 10.0.0.2").through(ours),
              "192.0.2.1 http inner.example 2");
    EXPECT_EQ(asked("10.0.0.1")
                  .field("X-Forwarded-For", "6.6.6.6, 10.6.6.6,192.0.2.1")
                  .field("X-Forwarded-For", "10.0.0.2")
                  .through(ours),
              "192.0.2.1 http inner.example 2");
}

TEST(trust_proxies, what_the_client_wrote_left_of_itself_counts_for_nothing) {
    EXPECT_EQ(asked("10.0.0.1")
                  .field("X-Forwarded-For", "127.0.0.1")
                  .field("X-Forwarded-For", "\"; rubbish, 10.0.0.9 , 192.0.2.1")
                  .through(ours),
              "192.0.2.1 http inner.example 1");
    EXPECT_EQ(asked("10.0.0.1")
                  .field("Forwarded", "for=\"unterminated")
                  .field("Forwarded", "for=10.0.0.9;proto=https, for=192.0.2.1;proto=http")
                  .through(ours_forwarded),
              "192.0.2.1 http inner.example 1");
    // The field that our proxies do not write is the client's.
    EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", "6.6.6.6").through(ours_forwarded),
              "10.0.0.1 http inner.example 0");
    EXPECT_EQ(asked("10.0.0.1").field("Forwarded", "for=6.6.6.6").through(ours),
              "10.0.0.1 http inner.example 0");
}

TEST(trust_proxies, a_chain_of_trusted_ones_ends_with_its_first) {
    EXPECT_EQ(asked("10.0.0.1").through(ours), "10.0.0.1 http inner.example 0");
    EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", "10.0.0.3, 10.0.0.2").through(ours),
              "10.0.0.3 http inner.example 2");
}

TEST(trust_proxies, scheme_and_host_are_those_that_the_client_used) {
    EXPECT_EQ(asked("10.0.0.1")
                  .field("X-Forwarded-For", "192.0.2.1, 10.0.0.2")
                  .field("X-Forwarded-Proto", "HTTPS")
                  .field("X-Forwarded-Host", "evil.example")
                  .through(ours),
              "192.0.2.1 https inner.example 2");
    EXPECT_EQ(asked("10.0.0.1")
                  .field("X-Forwarded-For", "192.0.2.1")
                  .field("X-Forwarded-Proto", "https, ws")
                  .field("X-Forwarded-Host", "evil.example, a.example:8443")
                  .through(ours_with_host),
              "192.0.2.1 http a.example:8443 1");
    EXPECT_EQ(asked("10.0.0.1")
                  .field("Forwarded", "for=192.0.2.1;proto=https;host=a.example")
                  .field("Forwarded", "for=10.0.0.2;proto=http;host=b.example")
                  .through(ours_forwarded),
              "192.0.2.1 https a.example 2");
}

TEST(trust_proxies, a_client_that_hides_has_the_address_of_its_proxy_and_is_marked) {
    EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", "6.6.6.6, unknown").through(ours),
              "10.0.0.1 http inner.example 1 hidden");
    EXPECT_EQ(asked("10.0.0.1").field("Forwarded", "for=_x, for=10.0.0.2").through(ours_forwarded),
              "10.0.0.2 http inner.example 2 hidden");
}

TEST(trust_proxies, a_peer_on_a_unix_socket_is_called_so) {
    const trust_proxies with_sockets{"10.0.0.0/8", "unix:"};
    EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", "192.0.2.1, unix:").through(with_sockets),
              "192.0.2.1 http inner.example 2");
    EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", "192.0.2.1, unix:").through(ours),
              "unix: http inner.example 1");
    EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", "unix:/path").through(with_sockets),
              "400");
}

TEST(trust_proxies, a_malformed_field_is_refused_where_it_is_relied_on) {
    for (const char* text : {"rubbish", "192.0.2.1,", "192.0.2.1, 10.0.0.x", "for=192.0.2.1"}) {
        EXPECT_EQ(asked("10.0.0.1").field("X-Forwarded-For", text).through(ours), "400") << text;
    }
    for (const char* text : {"for=\"", "for=rubbish", "for=192.0.2.1;proto=gopher",
                             "for=192.0.2.1;host=\"a b\"", "for=192.0.2.1;host=\"a@b\""}) {
        EXPECT_EQ(asked("10.0.0.1").field("Forwarded", text).through(ours_forwarded), "400")
            << text;
    }
}

TEST(trust_proxies, a_malformed_network_is_refused_when_it_is_made) {
    EXPECT_THROW(trust_proxies({"10.1.0.0/8"}), exception);
    EXPECT_THROW(trust_proxies({"localhost"}), exception);
}

}  // namespace
