// Credentials are nowhere in memory that has been given back, whatever way they went through.

#include "connect/dialogue.hpp"
#include "support/allocation_count.hpp"
#include "support/freed_memory.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_ca.hpp"

#include <coracle/base/url.hpp>
#include <coracle/connect/proxy.hpp>
#include <coracle/http/client.hpp>
#include <coracle/http/client_settings.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/tls/context.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;

namespace {

// Longer than what a string has within itself, and so that base64 of "Ada:" and it has no end of
// its own before that of the password.
constexpr std::string_view password = "correct-horse-battery-staple-of-Ada";

/// How the password stands in the field of Basic, but for its first and last bytes.
std::string within_base64() {
    std::string text = mime::base64_encode("Ada:" + std::string(password));
    return text.substr(8, text.size() - 16);
}

/// Runs `f`, and finds the password nowhere in what was freed, as it is and as Basic has it.
template <class F>
void expect_wiped(F f) {
    const std::string basic = within_base64();
    for (const std::string_view text : {password.substr(4, 24), std::string_view(basic)}) {
        const freed_memory_watch freed(text);
        f();
        EXPECT_EQ(freed.found(), 0U) << text;
    }
}

http::client_options direct() {
    http::client_options o;
    o.proxy_from_environment = false;
    return o;
}

/// A call of the test's own loop, whose blocks go with it.
void call(const std::string& url, const http::client_options& o = direct(), bool basic = false) {
    block_on([&]() -> task<> {
        http::client client(o);
        auto asking = client.get(url);
        if (basic) asking.basic("Ada", secret(password));
        const auto r = co_await as_result(asking);
        EXPECT_TRUE(r) << r.error();
    });
}

}  // namespace

TEST(freed_memory_watch, sees_what_is_left_behind) {
    const freed_memory_watch freed(password);
    {
        const std::string copy(password);
    }
    EXPECT_EQ(freed.found(), counts_allocations() ? 1U : 0U);
    {
        const secret copy(password);
    }
    EXPECT_EQ(freed.found(), counts_allocations() ? 1U : 0U);
}

TEST(credentials, are_wiped_behind_a_call_that_was_given_them) {
    const scripted_peer server(script().read_head().respond("ok").close());
    const std::string url = server.url("/");
    expect_wiped([&] { call(url, direct(), true); });
    EXPECT_NE(server.record(0).received.find(within_base64()), std::string::npos);
}

TEST(credentials, are_wiped_behind_a_url_that_has_them) {
    const scripted_peer server(script().read_head().respond("ok").close());
    const std::string url =
        "http://Ada:" + std::string(password) + "@127.0.0.1:" + std::to_string(server.port());
    expect_wiped([&] { call(url); });
    EXPECT_NE(server.record(0).received.find(within_base64()), std::string::npos);
}

TEST(credentials, are_wiped_behind_urls_made_of_one_that_has_them) {
    const std::string text = "http://Ada:" + std::string(password) + "@boats.test/a/b?c#d";
    const std::string escaped = text + std::string(500, ' ') + 'x';
    const std::string wrong = "http://Ada:" + std::string(password) + "@boats.test:0/";
    expect_wiped([&] {
        url first = url::parse(text).value();
        url second = first.resolve("../x y").value();
        EXPECT_TRUE(url::parse(escaped));
        second.add_query("y", "z").set_fragment("e");
        first.remove_user();
        EXPECT_EQ(first.text(), "http://boats.test/a/b?c#d");
        EXPECT_FALSE(url::parse(wrong));
    });
}

TEST(credentials, are_wiped_behind_a_proxy_that_was_told_them) {
    const scripted_peer proxy(script().read_head().respond("ok").close());
    expect_wiped([&] {
        http::client_options o = direct();
        o.proxy = secret(proxy.url(""));
        o.proxy_authentication = {http::auth_scheme::basic, "Ada", secret(password)};
        call("http://target.test/", o);
    });
    EXPECT_NE(proxy.record(0).received.find(within_base64()), std::string::npos);
}

TEST(credentials, are_wiped_behind_what_is_said_to_a_proxy_of_each_kind) {
    using connect::proxy_kind;
    const std::string basic = within_base64();
    for (const proxy_kind kind : {proxy_kind::http, proxy_kind::socks4, proxy_kind::socks4a,
                                  proxy_kind::socks5, proxy_kind::socks5h}) {
        const bool has_no_password = kind == proxy_kind::socks4 || kind == proxy_kind::socks4a;
        bool said = false;
        expect_wiped([&] {
            connect::proxy p(kind, "proxy", 1080);
            p.credentials("Ada", secret(password));
            const auto d = connect::make_dialogue(p, "192.0.2.1", 443);
            ASSERT_TRUE(d);
            const auto look = [&] {
                const std::string_view now = (*d)->output();
                said = said || now.find(password) != now.npos || now.find(basic) != now.npos;
                (*d)->sent();
            };
            look();
            if (kind == proxy_kind::socks5 || kind == proxy_kind::socks5h) {
                (*d)->take(std::string_view("\5\2", 2));
                look();
            }
        });
        EXPECT_NE(said, has_no_password) << to_string(kind);
    }
}

TEST(credentials, are_wiped_behind_options_that_are_text) {
    const std::string text = "proxy = \"http://Ada:" + std::string(password) + "@proxy.test:1\"";
    const std::string plain = "proxy=http://Ada:" + std::string(password) + "@proxy.test:1";
    const std::string wrong = text + ", nonsense=1";
    const std::string open = text.substr(0, text.size() - 1);
    expect_wiped([&] {
        http::client client(direct());
        client.set_defaults(text);
        client.set_defaults(plain);
        EXPECT_THROW(client.set_defaults(wrong), exception);
        EXPECT_THROW(client.set_defaults(open), exception);
    });
}

TEST(credentials, are_wiped_behind_options_that_are_json) {
    const std::string url = "\"http://Ada:" + std::string(password) + "@proxy.test:1\"";
    const std::string text = "{\"proxy\": " + url + "}";
    const std::string open = text.substr(0, text.size() - 2);
    expect_wiped([&] {
        http::client_options o;
        EXPECT_TRUE(http::read_json_options(o, text));
        EXPECT_FALSE(http::read_json_options(o, open));
    });
}

TEST(credentials, are_wiped_behind_the_key_of_a_certificate) {
    const test_ca ca;
    const tls::certificate_source source = ca.issue({.names = {"ada"}});
    // The first line of the key that differs from key to key.
    const std::string key(source.key.reveal());
    const std::string_view line = std::string_view(key).substr(key.find('\n') + 70, 40);
    const temporary_directory folder;
    const std::string certificate = folder.write("ada.pem", source.certificate);
    const std::string file = folder.write("ada.key", key);
    const freed_memory_watch freed(line);
    for (const bool from_file : {false, true}) {
        tls::client_options o;
        o.system_authorities = false;
        o.identity.certificate = from_file ? certificate : source.certificate;
        o.identity.key = from_file ? secret(file) : source.key;
        const tls::client_context context(o);
        o.identity.key_encoding = tls::encoding::der;
        EXPECT_THROW(tls::client_context{o}, exception);
    }
    EXPECT_EQ(freed.found(), 0U);
}
