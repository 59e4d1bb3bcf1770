#include "smtp/client/option_table.hpp"
#include "support/environment_variable.hpp"
#include "support/option_rows.hpp"
#include "support/struct_members.hpp"

#include <coracle/smtp/client_settings.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::smtp;
using connect::detail::option;
using connect::detail::option_type;
using smtp::detail::option_target;

namespace {

std::span<const option> table() {
    return smtp::detail::option_family().table;
}

std::string in_json(std::string_view key, std::string_view value, bool bare) {
    const std::string quote = bare ? "" : "\"";
    return "{\"" + std::string(key) + "\": " + quote + std::string(value) + quote + '}';
}

/// A value that is not the default.
std::string another_value(const option& o, const std::string& usual) {
    switch (o.type) {
        case option_type::boolean: return usual == "1" ? "0" : "1";
        case option_type::count:
        case option_type::size: return "7";
        case option_type::time: return "7s";
        case option_type::secret: return o.key == "proxy" ? "http://proxy.test:1" : "s";
        case option_type::list:
            return o.key == "resolve"                 ? "a:1:192.0.2.1"
                   : o.key == "pool_resolver_servers" ? "192.0.2.1:53"
                                                      : "x.test";
        case option_type::text: return "x";
        case option_type::choice: break;
    }
    for (const char* name : {"off", "required", "bearer", "v4", "DER", "1.3", "1.2"}) {
        option_target target;
        if (name != usual && o.set(&target, name)) return name;
    }
    return {};
}

}  // namespace

TEST(smtp_options, have_every_member_of_the_structs) {
    std::set<std::string> keys;
    for (const option& o : table()) keys.insert(std::string(o.key));
    std::set<std::string> wanted;
    const auto members = [](const char* header, const char* structure) {
        return struct_members(CORACLE_TEST_SOURCE_DIR, header, structure);
    };
    const auto add = [&](const char* header, const char* structure, const std::string& prefix) {
        const auto names = members(header, structure);
        EXPECT_FALSE(names.empty()) << structure;
        for (const std::string& name : names) wanted.insert(prefix + name);
    };
    add("smtp/client_options.hpp", "client_options", "");
    add("smtp/client_options.hpp", "delivery_reports", "reports_");
    add("smtp/client_options.hpp", "retry_options", "retry_");
    add("smtp/client_options.hpp", "pool_options", "pool_");
    add("connect/client_options.hpp", "client_tls_options", "tls_");
    add("connect/client_options.hpp", "client_socket_options", "socket_");
    add("net/resolver.hpp", "resolver_options", "pool_resolver_");
    // The last one is no text.
    for (const std::string outer :
         {"retry", "authentication", "reports", "certificates", "proxy_certificates", "tls",
          "sockets", "pool_resolver", "tls_context"}) {
        EXPECT_EQ(wanted.erase(outer), 1u) << outer;
    }
    for (const std::string_view name :
         {"mode", "user", "secret", "token", "mechanisms", "in_clear"}) {
        wanted.insert("authentication_" + std::string(name));
    }
    EXPECT_EQ(members("smtp/client_options.hpp", "credentials").size(), 6u);
    for (const std::string prefix : {"", "proxy_"}) {
        for (const std::string_view name :
             {"sslcert", "sslcerttype", "sslkey", "sslkeytype", "keypasswd", "cainfo", "capath"}) {
            wanted.insert(prefix + std::string(name));
        }
    }
    EXPECT_EQ(members("connect/client_options.hpp", "certificate_options").size(), 7u);
    EXPECT_EQ(keys, wanted);
}

TEST(smtp_options, have_keys_and_aliases_once_and_defaults_that_can_be_read) {
    std::set<std::string_view> names;
    for (const option& o : table()) {
        EXPECT_TRUE(names.insert(o.key).second) << o.key;
        EXPECT_TRUE(o.aliases.empty() || names.insert(o.aliases).second) << o.aliases;
        EXPECT_FALSE(o.meaning.empty()) << o.key;
        EXPECT_EQ(o.is_of_pool, o.key.starts_with("pool_")) << o.key;
        option_target target;
        const std::string usual = o.get(&target);
        EXPECT_TRUE(
            read_options(target.client, target.pool, std::string(o.key) + "=\"" + usual + '"'))
            << o.key;
        EXPECT_EQ(o.get(&target), usual) << o.key;
    }
}

TEST(smtp_options, can_all_be_set_by_key_by_json_and_by_the_environment) {
    for (const option& o : table()) {
        const option_target defaults;
        const std::string value = another_value(o, o.get(&defaults));
        const std::string key(o.key);
        option_target by_key;
        EXPECT_TRUE(read_options(by_key.client, by_key.pool, key + "=\"" + value + '"')) << key;
        EXPECT_NE(o.get(&by_key), o.get(&defaults)) << key;
        // No other option has changed.
        for (const option& other : table()) {
            if (other.key != o.key) {
                EXPECT_EQ(other.get(&by_key), other.get(&defaults)) << key << ' ' << other.key;
            }
        }
        option_target by_json;
        const bool bare = o.type == option_type::count || o.type == option_type::size;
        EXPECT_TRUE(read_json_options(by_json.client, by_json.pool, in_json(key, value, bare)))
            << key;
        EXPECT_EQ(o.get(&by_json), o.get(&by_key)) << key;
        std::string name = "CORACLE_SMTP_";
        for (const char c : key) name += static_cast<char>(std::toupper(c));
        const environment_variable set(name.c_str(), value.c_str());
        option_target by_environment;
        EXPECT_TRUE(read_environment_options(by_environment.client, by_environment.pool)) << key;
        EXPECT_EQ(o.get(&by_environment), o.get(&by_key)) << key;
    }
}

TEST(smtp_options, of_the_environment_have_their_whole_key) {
    const environment_variable by_alias("CORACLE_SMTP_USER", "nobody");
    const environment_variable by_key("CORACLE_SMTP_AUTHENTICATION_USER", "ada");
    const environment_variable empty("CORACLE_SMTP_HELLO", "");
    client_options o;
    o.hello = "here";
    ASSERT_TRUE(read_environment_options(o));
    EXPECT_EQ(o.authentication.user, "ada");
    EXPECT_EQ(o.hello, "here");
}

TEST(smtp_options, have_groups_in_json) {
    client_options o;
    pool_options p;
    ASSERT_TRUE(read_json_options(
        o, p,
        R"({"authentication": {"user": "ada", "secret": "s"}, "reports": {"on_delay": true},
            "retry": {"retries": 2}, "pool": {"messages": 5}, "tls": {"maximum": "1.2"}})"));
    EXPECT_EQ(o.authentication.user, "ada");
    EXPECT_EQ(o.authentication.password.reveal(), "s");
    EXPECT_TRUE(o.reports.on_delay);
    EXPECT_EQ(o.retry.retries, 2u);
    EXPECT_EQ(p.messages, 5u);
    // One mail alone has no pool.
    EXPECT_FALSE(read_options(o, "pool_messages=1"));
}

TEST(smtp_options, are_described_with_a_line_for_each) {
    const std::string text = describe_options();
    EXPECT_TRUE(text.starts_with("key "));
    EXPECT_EQ(std::ranges::count(text, '\n'), static_cast<long>(table().size()) + 1);
    EXPECT_NE(text.find("\nstarttls"), std::string::npos);
}

TEST(docs_mail_options, has_the_rows_of_the_table) {
    EXPECT_EQ(rows_of_options_in(CORACLE_TEST_SOURCE_DIR "/docs/mail-options.md"),
              rows_of(list_options()));
}
