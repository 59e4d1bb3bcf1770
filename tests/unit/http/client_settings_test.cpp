#include "http/client/option_table.hpp"
#include "support/environment_variable.hpp"
#include "support/option_rows.hpp"
#include "support/struct_members.hpp"

#include <coracle/http/client_settings.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace coracle;
using namespace coracle::http;
using namespace std::chrono_literals;
using namespace std::literals;

namespace {

// Why the text is refused; empty: it is not.
std::string refusal(std::string_view text) {
    client_options options;
    const auto read = read_options(options, text);
    return read ? "" : std::string(read.error().subject());
}

std::string json_refusal(std::string_view text) {
    client_options options;
    const auto read = read_json_options(options, text);
    return read ? "" : std::string(read.error().subject());
}

client_options from(std::string_view text) {
    client_options options;
    const auto read = read_options(options, text);
    EXPECT_TRUE(read) << read.error().message();
    return options;
}

client_options from_json(std::string_view text) {
    client_options options;
    const auto read = read_json_options(options, text);
    EXPECT_TRUE(read) << read.error().message();
    return options;
}

/// The names of the members of a struct of client_options.hpp, or of the resolver's.
std::vector<std::string> members(std::string_view structure) {
    const bool shared = structure == "client_tls_options" || structure == "certificate_options" ||
                        structure == "client_socket_options";
    const std::string_view header = structure == "resolver_options" ? "net/resolver.hpp"
                                    : shared                        ? "connect/client_options.hpp"
                                                                    : "http/client_options.hpp";
    return struct_members(CORACLE_TEST_SOURCE_DIR, std::string(header), std::string(structure));
}

}  // namespace

TEST(read_options, takes_strings_of_curlev) {
    const client_options o = from(
        "follow_location=1, timeout=5000, proxy=\"http://a,b@c\", maxredirs=7 ,cookies=1,"
        " accept_compression=0,insecure = 1,verbose=1,connect_timeout=1");
    EXPECT_EQ(o.follow, follow::same_method);
    EXPECT_EQ(o.total_timeout, 5s);
    EXPECT_EQ(o.proxy.reveal(), "http://a,b@c");
    EXPECT_EQ(o.redirects, 7u);
    EXPECT_TRUE(o.cookies && o.insecure && o.verbose && !o.accept_compression);
    EXPECT_EQ(o.connect_timeout, 1ms);

    const client_options a = from("mode=basic,user=joe,secret=abc123");
    EXPECT_EQ(a.authentication.scheme, auth_scheme::basic);
    EXPECT_EQ(a.authentication.user, "joe");
    EXPECT_EQ(a.authentication.password.reveal(), "abc123");

    const client_options c = from(
        "engine=e,sslcert=a,sslcerttype=der,sslkey=b,sslkeytype=PROV,keypasswd=c,cainfo=d,"
        "capath=f,proxy_sslcert=g,proxy_sslcerttype=P12,proxy_sslkey=h,proxy_sslkeytype=ENG,"
        "proxy_keypasswd=i,proxy_cainfo=j,proxy_capath=k");
    EXPECT_EQ(c.engine, "e");
    EXPECT_EQ(c.certificates.certificate, "a");
    EXPECT_EQ(c.certificates.certificate_type, "DER");
    EXPECT_EQ(c.certificates.key, "b");
    EXPECT_EQ(c.certificates.key_type, "PROV");
    EXPECT_EQ(c.certificates.key_password.reveal(), "c");
    EXPECT_EQ(c.certificates.authorities, "d");
    EXPECT_EQ(c.certificates.authority_folder, "f");
    EXPECT_EQ(c.proxy_certificates.certificate, "g");
    EXPECT_EQ(c.proxy_certificates.certificate_type, "P12");
    EXPECT_EQ(c.proxy_certificates.key, "h");
    EXPECT_EQ(c.proxy_certificates.key_type, "ENG");
    EXPECT_EQ(c.proxy_certificates.key_password.reveal(), "i");
    EXPECT_EQ(c.proxy_certificates.authorities, "j");
    EXPECT_EQ(c.proxy_certificates.authority_folder, "k");
    EXPECT_EQ(refusal("rcpt_allow_fails=1"), "rcpt_allow_fails is of SMTP only");
}

TEST(read_options, takes_quotes_blanks_and_nothing) {
    EXPECT_EQ(from("").user_agent, "coracle");
    EXPECT_EQ(from(" , ,").user_agent, "coracle");
    EXPECT_EQ(from("user_agent=").user_agent, "");
    EXPECT_EQ(from("user_agent= a b = c ").user_agent, "a b = c");
    EXPECT_EQ(from("user_agent = \" a, b \" , redirects=1").user_agent, " a, b ");
    EXPECT_EQ(from("user_agent=\"\"").user_agent, "");
    EXPECT_EQ(from(R"(user_agent="a\"\\b\c")").user_agent, R"(a"\b\c)");
    EXPECT_EQ(from("user_agent=a\"b\"").user_agent, "a\"b\"");
    EXPECT_EQ(from("user_agent=a,user_agent=b").user_agent, "b");
    EXPECT_EQ(from("resolve=\"a:1:127.0.0.1,[::1];b:2:::1\"").resolve,
              (std::vector<std::string>{"a:1:127.0.0.1,[::1]", "b:2:::1"}));
    EXPECT_EQ(from("safe_protocols=\"HTTPS,http\"").safe_protocols, "https,http");
    EXPECT_EQ(refusal("user_agent"), "user_agent has no \"=\"");
    EXPECT_EQ(refusal("user_agent=\"a"), "the value of user_agent has no second quote");
    EXPECT_EQ(refusal("user_agent=\"a\"b"), "the value of user_agent goes on behind its quotes");
    EXPECT_EQ(refusal("=1"), "a key");
}

TEST(read_options, takes_times_with_units) {
    const std::pair<std::string_view, duration> rows[] = {
        {"0", 0ms},     {"5000", 5s}, {"250ms", 250ms}, {"5s", 5s},
        {"2min", 2min}, {"1h", 1h},   {"1.5s", 1500ms}, {"20us", 20us},
        {"7ns", 7ns},   {"5 S", 5s},  {"0.25", 250us},
    };
    for (const auto& [text, value] : rows) {
        EXPECT_EQ(from("total_timeout=" + std::string(text)).total_timeout, value) << text;
    }
    for (const std::string_view text : {"", "-1", "+1", "s", "5x", "5m", "1e3", "nan", "inf",
                                        "0x10", "1s2", "99999999999h", ".5", "1 000"}) {
        EXPECT_EQ(refusal("total_timeout=" + std::string(text)),
                  "total_timeout wants a time such as 5000 (ms), 250ms, 5s, 2min or 1h")
            << text;
    }
}

TEST(read_options, takes_sizes_with_units) {
    const std::pair<std::string_view, std::size_t> rows[] = {
        {"0", 0},          {"100", 100},        {"16MiB", 16u << 20}, {"2MB", 2'000'000},
        {"64k", 64 << 10}, {"1 GiB", 1u << 30}, {"3kb", 3000},        {"5b", 5},
        {"1g", 1u << 30},  {"2M", 2u << 20},
    };
    for (const auto& [text, value] : rows) {
        EXPECT_EQ(from("body_limit=" + std::string(text)).body_limit, value) << text;
    }
    for (const std::string_view text :
         {"", "-1", "k", "1.5k", "1kk", "99999999999999999999", "18446744073709551615k"}) {
        EXPECT_EQ(refusal("body_limit=" + std::string(text)),
                  "body_limit wants a number of bytes such as 65536, 64KiB or 2MB")
            << text;
    }
    EXPECT_EQ(from("head_limit=4294967295").head_limit, 4294967295u);
    EXPECT_NE(refusal("head_limit=4GiB"), "");
}

TEST(read_options, says_what_is_wanted) {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"cookies=2", "cookies wants 0, 1, true, false, yes, no, on or off"},
        {"cookies=", "cookies wants 0, 1, true, false, yes, no, on or off"},
        {"redirects=-1", "redirects wants a whole number"},
        {"redirects=4294967296", "redirects wants a whole number"},
        {"redirects=1s", "redirects wants a whole number"},
        {"follow=4", "follow wants none (0), same_method (1), standard (2) or first_only (3)"},
        {"mode=ntlm", "authentication_mode wants none, basic, digest or bearer"},
        {"family=v5", "family wants any, v4 or v6"},
        {"sslcerttype=X", "sslcerttype wants PEM, DER, P12, or nothing to find out from the file"},
        {"user_agent=a\r\nb", "user_agent wants text without control characters"},
        {"secret=a\nb", "authentication_secret wants text without control characters"},
        {"proxy=gopher://a",
         "proxy wants [http|https|socks4|socks4a|socks5|socks5h://][user:password@]host[:port]"},
        {"safe_protocols=", "safe_protocols wants schemes with commas between them, such as https"},
        {"safe_protocols=\"http,,a\"",
         "safe_protocols wants schemes with commas between them, such as https"},
        {"resolve=a", "resolve wants host:port:address[,address...], with \";\" between"},
    };
    for (const auto& [text, sentence] : rows) EXPECT_EQ(refusal(text), sentence) << text;
}

TEST(read_options, names_the_nearest_key) {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {"conect_timeout=1", "\"conect_timeout\" (did you mean connect_timeout?)"},
        {"connect-timeout=1", "\"connect-timeout\" (did you mean connect_timeout?)"},
        {"maxredir=1", "\"maxredir\" (did you mean maxredirs?)"},
        {"cokoies=1", "\"cokoies\" (did you mean cookies?)"},
        {"Verbose=1", "\"Verbose\" (did you mean verbose?)"},
        {"retry_delayed=1", "\"retry_delayed\" (did you mean retry_delay?)"},
        {"frobnicate=1", "\"frobnicate\""},
        {"x=1", "\"x\""},
        {"a b=1", "a key"},
        {"\x1b[31m=1", "a key"},
    };
    for (const auto& [text, sentence] : rows) {
        client_options o;
        const auto read = read_options(o, text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error(), errc::unknown_option);
        EXPECT_EQ(read.error().subject(), sentence);
    }
    const std::string endless(1 << 20, 'a');
    EXPECT_EQ(refusal(endless + "=1"), "a key");
}

TEST(read_options, sets_all_or_nothing) {
    client_options o;
    pool_options p;
    EXPECT_FALSE(read_options(o, p, "redirects=9,pool_connections=3,cookies=maybe"));
    EXPECT_FALSE(
        read_json_options(o, p, R"({"redirects": 9, "pool_connections": 3, "cookies": 2})"));
    EXPECT_EQ(o.redirects, client_options().redirects);
    EXPECT_EQ(p.connections, pool_options().connections);
    EXPECT_TRUE(read_options(o, p, "redirects=9,pool_connections=3,pool_idle_time=1min"));
    EXPECT_EQ(o.redirects, 9u);
    EXPECT_EQ(p.connections, 3u);
    EXPECT_EQ(p.idle_time, 60s);
    // Settings that a text does not name stay as they were.
    EXPECT_TRUE(read_options(o, p, "cookies=yes"));
    EXPECT_TRUE(o.redirects == 9 && o.cookies && p.connections == 3);
    EXPECT_EQ(refusal("pool_connections=3"), "pool_connections is of a client, not of one request");
}

TEST(read_options, tells_no_secret_in_an_error) {
    for (const std::string_view text :
         {"secret=ab,geheim", "secret=ab,geheim=1", "secret=\"geheim", "secret=\"a\"geheim",
          "secret=geheim\n.", "proxy=http://u:a,geheim@h", "proxy=x://u:geheim@h",
          "keypasswd=a,geheim=geheim", "total_timeout=geheim"}) {
        const std::string told = refusal(text);
        EXPECT_NE(told, "") << text;
        EXPECT_EQ(told.find("geheim"), std::string::npos) << told;
    }
    EXPECT_EQ(
        refusal("secret=ab,c=1"),
        "what follows a secret or a proxy is no option: a value with a comma stands in quotes");
    for (const std::string_view text : {R"({"secret": "geheim\n"})", R"({"secret": "geheim"x})",
                                        R"({"proxy": "x://a:geheim@b"})"}) {
        const std::string told = json_refusal(text);
        EXPECT_NE(told, "") << text;
        EXPECT_EQ(told.find("geheim"), std::string::npos) << told;
    }
}

TEST(read_json_options, takes_a_flat_object_and_groups) {
    client_options o;
    pool_options p;
    const auto read = read_json_options(o, p, R"( {
        "follow": "standard", "redirects": 3, "cookies": true, "insecure": 0, "netrc": "on",
        "timeout": 5000, "connect_timeout": "2s", "body_limit": "1MiB", "user_agent": "a\u00e9\"\ud83d\ude00",
        "resolve": ["a:1:127.0.0.1", "b:2:127.0.0.2,::1"], "family": 4,
        "authentication": {"mode": "digest", "user": "joe", "secret": "x\\y"},
        "proxy_authentication": {"mode": "basic"},
        "certificates": {"sslcert": "c", "keypasswd": "k", "engine": "e"},
        "proxy_certificates": {"cainfo": "p"},
        "retry": {"retries": 2, "delay": "50ms", "not_idempotent": true},
        "pool": {"connections": 4, "waiting": 5}, "pool_idle_time": "1s"
    } )");
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(o.follow, follow::standard);
    EXPECT_EQ(o.redirects, 3u);
    EXPECT_TRUE(o.cookies && !o.insecure && o.netrc);
    EXPECT_EQ(o.total_timeout, 5s);
    EXPECT_EQ(o.connect_timeout, 2s);
    EXPECT_EQ(o.body_limit, 1u << 20);
    EXPECT_EQ(o.user_agent, "a\xc3\xa9\"\xf0\x9f\x98\x80");
    EXPECT_EQ(o.resolve, (std::vector<std::string>{"a:1:127.0.0.1", "b:2:127.0.0.2,::1"}));
    EXPECT_EQ(o.family, net::family::v4);
    EXPECT_EQ(o.authentication.scheme, auth_scheme::digest);
    EXPECT_EQ(o.authentication.user, "joe");
    EXPECT_EQ(o.authentication.password.reveal(), "x\\y");
    EXPECT_EQ(o.proxy_authentication.scheme, auth_scheme::basic);
    EXPECT_EQ(o.certificates.certificate, "c");
    EXPECT_EQ(o.certificates.key_password.reveal(), "k");
    EXPECT_EQ(o.engine, "e");
    EXPECT_EQ(o.proxy_certificates.authorities, "p");
    EXPECT_EQ(o.retry.retries, 2u);
    EXPECT_EQ(o.retry.delay, 50ms);
    EXPECT_TRUE(o.retry.not_idempotent);
    EXPECT_EQ(p.connections, 4u);
    EXPECT_EQ(p.waiting, 5u);
    EXPECT_EQ(p.idle_time, 1s);
    EXPECT_EQ(from_json("{}").user_agent, "coracle");
    EXPECT_TRUE(from_json(R"({"resolve": []})").resolve.empty());
    EXPECT_TRUE(from_json(R"({"resolve": ""})").resolve.empty());
}

TEST(read_json_options, refuses_what_is_no_json_object_and_says_where) {
    for (const std::string_view text : {"",
                                        "[]",
                                        "1",
                                        "{",
                                        "}",
                                        "{}x",
                                        "{,}",
                                        R"({"cookies": 1,})",
                                        R"({"cookies" 1})",
                                        R"({cookies: 1})",
                                        R"({'cookies': 1})",
                                        R"({"cookies": tru})",
                                        R"({"cookies": })",
                                        R"({"redirects": 01})",
                                        R"({"redirects": 1.})",
                                        R"({"redirects": .5})",
                                        R"({"redirects": +1})",
                                        R"({"redirects": 1e})",
                                        R"({"redirects": -})",
                                        R"({"user_agent": "a)",
                                        R"({"user_agent": "\x"})",
                                        R"({"user_agent": "\u12"})",
                                        R"({"user_agent": "\ud800"})",
                                        R"({"user_agent": "\udc00"})",
                                        R"({"user_agent": "\ud800\u0041"})",
                                        "{\"user_agent\": \"\n\"}",
                                        "{\"user_agent\": \"\xff\"}",
                                        R"({"resolve": ["a:1:1.2.3.4",]})",
                                        R"({"resolve": [1]})",
                                        R"({"resolve": ["a:1:1.2.3.4"})",
                                        R"({"retry": 1})",
                                        R"({"retry": {"delay": {}}})",
                                        R"({"cookies": {}})",
                                        R"({} // so)"}) {
        EXPECT_TRUE(json_refusal(text).starts_with("the text is not a JSON object")) << text;
    }
    EXPECT_NE(json_refusal("{}\0"sv), "");
    EXPECT_EQ(json_refusal(R"({"cookies": ?})"),
              "the text is not a JSON object of options: see byte 12");
}

TEST(read_json_options, names_the_line_of_what_is_wrong) {
    EXPECT_EQ(json_refusal("{\n\"cookies\": 1,\n\"retry\": {\"delay\": \"x\"}\n}"),
              "retry_delay wants a time such as 5000 (ms), 250ms, 5s, 2min or 1h, line 3");
    EXPECT_EQ(json_refusal("{\n\n\"cookie\":\n1}"), "\"cookie\" (did you mean cookies?), line 3");
    EXPECT_EQ(json_refusal("{\n\"cookies\": 1,\n}"),
              "the text is not a JSON object of options: see byte 16, line 3");
    EXPECT_EQ(json_refusal("{\n\"cookies\": 1,\n\"cookies\": 1}"), "cookies comes twice, line 3");
}

TEST(read_json_options, refuses_values_of_another_kind) {
    const std::pair<std::string_view, std::string_view> rows[] = {
        {R"({"cookies": null})", "cookies wants 0, 1, true, false, yes, no, on or off"},
        {R"({"cookies": 2})", "cookies wants 0, 1, true, false, yes, no, on or off"},
        {R"({"user_agent": true})", "user_agent wants text without control characters"},
        {R"({"user_agent": 1})", "user_agent wants text without control characters"},
        {R"({"user_agent": "\u0000"})", "user_agent wants text without control characters"},
        {R"({"user_agent": ["a"]})", "user_agent wants text without control characters"},
        {R"({"redirects": true})", "redirects wants a whole number"},
        {R"({"redirects": 1.5})", "redirects wants a whole number"},
        {R"({"redirects": 1e1})", "redirects wants a whole number"},
        {R"({"timeout": -1})",
         "total_timeout wants a time such as 5000 (ms), 250ms, 5s, 2min or 1h"},
        {R"({"cookies": 1, "cookies": 0})", "cookies comes twice"},
        {R"({"timeout": 1, "total_timeout": 1})", "total_timeout comes twice"},
        {R"({"retry": {"delay": 1}, "retry_delay": 1})", "retry_delay comes twice"},
        {R"({"certificates": {"cookies": 1}})", "\"certificates.cookies\""},
        {R"({"proxy_certificates": {"engine": "a"}})", "\"proxy_certificates.engine\""},
        {R"({"retry": {"dely": 1}})", "\"retry_dely\" (did you mean retry_delay?)"},
        {R"({"secret": "a", "cokies": 1})", "\"cokies\" (did you mean cookies?)"},
        {R"({"pool": {"connections": 1}})", "pool_connections is of a client, not of one request"},
    };
    for (const auto& [text, sentence] : rows) EXPECT_EQ(json_refusal(text), sentence) << text;
}

TEST(read_environment_options, takes_the_variables_of_keys) {
    const environment_variable a("CORACLE_CONNECT_TIMEOUT", "7s");
    const environment_variable b("CORACLE_RETRY_RETRIES", "3");
    const environment_variable c("CORACLE_POOL_CONNECTIONS", "8");
    const environment_variable d("CORACLE_USER_AGENT", "");
    const environment_variable e("CORACLE_TIMEOUT", "1");
    client_options o;
    ASSERT_TRUE(read_environment_options(o));
    EXPECT_EQ(o.connect_timeout, 7s);
    EXPECT_EQ(o.retry.retries, 3u);
    EXPECT_EQ(o.user_agent, "coracle");
    EXPECT_EQ(o.total_timeout, 0s);
    pool_options p;
    ASSERT_TRUE(read_environment_options(o, p));
    EXPECT_EQ(p.connections, 8u);

    const environment_variable f("CORACLE_VERBOSE", "loud");
    const auto read = read_environment_options(o, p);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().subject(),
              "CORACLE_VERBOSE wants 0, 1, true, false, yes, no, on or off");
}

TEST(list_options, has_keys_once_and_defaults_that_can_be_read) {
    std::set<std::string_view> names;
    for (const connect::option_description& o : list_options()) {
        EXPECT_TRUE(names.insert(o.key).second) << o.key;
        EXPECT_TRUE(o.aliases.empty() || names.insert(o.aliases).second) << o.aliases;
        EXPECT_FALSE(o.meaning.empty() || o.type.empty()) << o.key;
        EXPECT_EQ(o.is_of_pool, o.key.starts_with("pool_")) << o.key;
        EXPECT_EQ(o.unit.empty(),
                  o.type != "time" && o.type != "size" && o.key != "retry_budget_percent")
            << o.key;
        client_options client;
        pool_options pool;
        const std::string text = std::string(o.key) + "=\"" + o.default_value + "\"";
        EXPECT_TRUE(read_options(client, pool, text)) << text;
    }
}

TEST(list_options, has_every_member_of_the_structs) {
    std::set<std::string> keys;
    for (const connect::option_description& o : list_options()) keys.insert(std::string(o.key));
    std::set<std::string> wanted;
    const auto add = [&](std::string_view structure, const std::string& prefix) {
        const auto names = members(structure);
        EXPECT_FALSE(names.empty()) << structure;
        for (const std::string& name : names) wanted.insert(prefix + name);
    };
    add("client_options", "");
    add("retry_options", "retry_");
    add("pool_options", "pool_");
    add("client_tls_options", "tls_");
    add("client_socket_options", "socket_");
    add("resolver_options", "pool_resolver_");
    add("client_h2_options", "pool_h2_");
    // The last two are no text.
    for (const std::string outer :
         {"retry", "authentication", "proxy_authentication", "certificates", "proxy_certificates",
          "tls", "sockets", "pool_resolver", "pool_h2", "tls_context", "pool_h2_limits"}) {
        EXPECT_EQ(wanted.erase(outer), 1u) << outer;
    }
    for (const std::string prefix : {"authentication_", "proxy_authentication_"}) {
        for (const std::string_view name : {"mode", "user", "secret"}) {
            wanted.insert(prefix + std::string(name));
        }
    }
    EXPECT_EQ(members("credentials").size(), 3u);
    for (const std::string prefix : {"", "proxy_"}) {
        for (const std::string_view name :
             {"sslcert", "sslcerttype", "sslkey", "sslkeytype", "keypasswd", "cainfo", "capath"}) {
            wanted.insert(prefix + std::string(name));
        }
    }
    EXPECT_EQ(members("certificate_options").size(), 7u);
    EXPECT_EQ(keys, wanted);
}

/// A value that is not the default.
std::string another_value(const coracle::http::detail::option& o, const std::string& usual) {
    using enum coracle::http::detail::option_type;
    const std::string_view key = o.key;
    switch (o.type) {
        case boolean: return usual == "1" ? "0" : "1";
        case count:
        case size: return "7";
        case time: return "7s";
        case secret: return key == "proxy" ? "http://proxy.test:1" : "s";
        case list:
            return key == "resolve"                 ? "a:1:192.0.2.1"
                   : key == "pool_resolver_servers" ? "192.0.2.1:53"
                                                    : "x.test";
        case text:
            return key == "proxy" ? "http://proxy.test:1" : key == "safe_protocols" ? "https" : "x";
        case choice: break;
    }
    for (const char* name : {"basic", "v4", "standard", "DER", "1.3", "1.2", "1.1"}) {
        coracle::http::detail::option_target target;
        if (name != usual && o.set(&target, name)) return name;
    }
    return {};
}

TEST(list_options, can_all_be_set_by_key_by_json_and_by_the_environment) {
    for (const auto& o : coracle::http::detail::option_table()) {
        const coracle::http::detail::option_target defaults;
        const std::string value = another_value(o, o.get(&defaults));
        coracle::http::detail::option_target by_key;
        coracle::http::detail::option_target by_json;
        coracle::http::detail::option_target by_environment;
        const std::string key(o.key);
        const bool bare = o.type == coracle::http::detail::option_type::count ||
                          o.type == coracle::http::detail::option_type::size;
        const std::string in_json = bare ? value : '"' + value + '"';
        EXPECT_TRUE(read_options(by_key.client, by_key.pool, key + "=\"" + value + '"')) << key;
        EXPECT_TRUE(
            read_json_options(by_json.client, by_json.pool, "{\"" + key + "\": " + in_json + '}'))
            << key;
        std::string name = "CORACLE_";
        for (const char c : key) name += static_cast<char>(std::toupper(c));
        {
            const environment_variable set(name.c_str(), value.c_str());
            EXPECT_TRUE(read_environment_options(by_environment.client, by_environment.pool))
                << key;
        }
        EXPECT_NE(o.get(&by_key), o.get(&defaults)) << key;
        EXPECT_EQ(o.get(&by_json), o.get(&by_key)) << key;
        EXPECT_EQ(o.get(&by_environment), o.get(&by_key)) << key;
    }
}

TEST(describe_options, is_a_table_with_a_line_for_each) {
    const std::string table = describe_options();
    EXPECT_TRUE(table.starts_with("key "));
    EXPECT_EQ(std::ranges::count(table, '\n'), static_cast<long>(list_options().size()) + 1);
    EXPECT_NE(table.find("\nconnect_timeout"), std::string::npos);
    EXPECT_NE(table.find("  30s "), std::string::npos);
    EXPECT_NE(table.find("  16MiB "), std::string::npos);
    // Every column begins below its heading.
    const std::size_t at = table.find("meaning");
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        ASSERT_GT(line.size(), at) << line;
        EXPECT_EQ(line.substr(at - 2, 2), "  ") << line;
        EXPECT_NE(line[at], ' ') << line;
    }
}

TEST(docs_options, has_the_rows_of_the_table) {
    EXPECT_EQ(rows_of_options_in(CORACLE_TEST_SOURCE_DIR "/docs/options.md"),
              rows_of(list_options()));
}
