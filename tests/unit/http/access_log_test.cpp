#include "support/temporary_directory.hpp"

#include <coracle/http/access_log.hpp>
#include <coracle/http/forwarded.hpp>
#include <coracle/net/network.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <iterator>
#include <utility>

using namespace coracle;
using http::access_log_format;

namespace {

struct asked {
    std::string_view method = "GET";
    std::string_view target = "/a.txt";
    std::string_view host = "boats.example";
    std::initializer_list<std::pair<const char*, std::string>> fields = {};
    http::status status = http::status::ok;
    std::uint64_t bytes = 10;
    std::int64_t unix_time = 971186136;
    bool is_whole = true;
    const char* client = nullptr;  ///< as trusted proxies give it
};

/// Field values as a lenient peer might have sent them, which `fields::add` would refuse.
std::string line_of(access_log_format f, const asked& a) {
    const auto peer = net::address::parse("192.0.2.1:999");
    http::request req;
    std::vector<http::field> lines;
    for (const auto& [name, value] : a.fields) {
        req.fields().add(name, "x");
        http::field line = *(req.fields().end() - 1);
        line.value = value;
        lines.push_back(line);
    }
    req.fields().adopt(lines.data(), lines.size());
    http::request::parts p;
    p.method_text = a.method;
    p.target = a.target;
    p.host = a.host;
    req.assign(p);
    if (a.client != nullptr)
        req.emplace_data<http::client_info>().address = *net::parse_ip(a.client);
    std::string out;
    http::append_access_log_line(
        out, f,
        {*peer, req, a.status, a.bytes, std::chrono::microseconds(1234), a.unix_time, a.is_whole});
    return out;
}

}  // namespace

TEST(access_log, has_the_common_format) {
    EXPECT_EQ(line_of(access_log_format::common, {}),
              "192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] \"GET /a.txt HTTP/1.1\" 200 10\n");
    EXPECT_EQ(
        line_of(access_log_format::common, {.status = http::status::not_modified, .bytes = 0}),
        "192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] \"GET /a.txt HTTP/1.1\" 304 -\n");
}

TEST(access_log, has_two_digits_for_each_part_of_a_time) {
    EXPECT_TRUE(line_of(access_log_format::common, {.unix_time = 1252487349})
                    .contains("[09/Sep/2009:09:09:09 +0000]"));
    EXPECT_TRUE(line_of(access_log_format::json, {.unix_time = 1252487349})
                    .contains("\"2009-09-09T09:09:09Z\""));
}

TEST(access_log, has_the_combined_format) {
    EXPECT_EQ(line_of(access_log_format::combined,
                      {.fields = {{"Referer", "http://a/"}, {"User-Agent", "curl/8"}}}),
              "192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] \"GET /a.txt HTTP/1.1\" 200 10 "
              "\"http://a/\" \"curl/8\"\n");
    EXPECT_TRUE(line_of(access_log_format::combined, {}).ends_with(" 200 10 \"-\" \"-\"\n"));
}

TEST(access_log, has_json) {
    EXPECT_EQ(line_of(access_log_format::json, {.fields = {{"Referer", "http://a/"},
                                                           {"User-Agent",
                                                            "b\xc3\xb6"
                                                            "at"}}}),
              "{\"time\":\"2000-10-10T13:55:36Z\",\"peer\":\"192.0.2.1\",\"method\":\"GET\","
              "\"target\":\"/a.txt\",\"version\":\"HTTP/1.1\",\"status\":200,\"bytes\":10,"
              "\"duration_us\":1234,\"host\":\"boats.example\",\"referer\":\"http://a/\","
              "\"user_agent\":\"b\xc3\xb6"
              "at\"}\n");
}

TEST(access_log, has_the_client_that_trusted_proxies_give) {
    EXPECT_TRUE(line_of(access_log_format::common, {.client = "203.0.113.7"})
                    .starts_with("203.0.113.7 - - ["));
    EXPECT_TRUE(line_of(access_log_format::json, {.client = "2001:db8::7"})
                    .contains(R"("peer":"192.0.2.1","client":"2001:db8::7","method")"));
}

TEST(access_log, has_no_secret_of_a_query) {
    const asked with{.target = "/in?token=geheim&x=1",
                     .fields = {{"Referer", "http://a/?api_key=geheim"}}};
    EXPECT_TRUE(
        line_of(access_log_format::common, with).contains("\"GET /in?token=***&x=1 HTTP/1.1\""));
    EXPECT_TRUE(line_of(access_log_format::combined, with).contains("\"http://a/?api_key=***\""));
    const std::string json = line_of(access_log_format::json, with);
    EXPECT_TRUE(json.contains(R"("target":"/in?token=***&x=1")")) << json;
    EXPECT_TRUE(json.contains(R"("referer":"http://a/?api_key=***")")) << json;
}

TEST(access_log, says_so_of_a_request_that_was_never_understood) {
    const asked refused{.method = "", .status = http::status::bad_request, .bytes = 0};
    EXPECT_TRUE(line_of(access_log_format::common, refused).ends_with("] \"-\" 400 -\n"));
    EXPECT_EQ(line_of(access_log_format::json, refused).find("method"), std::string::npos);
    EXPECT_NE(line_of(access_log_format::json, {.is_whole = false})
                  .find(R"("status":200,"bytes":10,"whole":false,"duration_us":1234)"),
              std::string::npos);
    EXPECT_EQ(line_of(access_log_format::common, {.is_whole = false}),
              line_of(access_log_format::common, {}));
}

TEST(access_log, cannot_be_forged) {
    using namespace std::string_literals;
    const std::string evil = "x\" 200 1\r\n10.0.0.1 - - \\ \x1b[31m \x7f \xff \xc2\x9b \0"s;
    for (const auto f :
         {access_log_format::common, access_log_format::combined, access_log_format::json}) {
        const std::string line = line_of(f, {.method = "G\"T",
                                             .target = evil,
                                             .host = evil,
                                             .fields = {{"Referer", evil}, {"User-Agent", evil}}});
        EXPECT_EQ(line.find('\n'), line.size() - 1);
        for (const char c : std::string_view(line).substr(0, line.size() - 1)) {
            const auto byte = static_cast<unsigned char>(c);
            EXPECT_TRUE(byte >= 0x20 && byte < 0x7f) << int(byte);
        }
    }
    EXPECT_NE(
        line_of(access_log_format::common, {.target = evil})
            .find(
                R"("GET x\x22 200 1\x0d\x0a10.0.0.1 - - \x5c \x1b[31m \x7f \xff \xc2\x9b \x00 HTTP)"),
        std::string::npos);
    EXPECT_NE(
        line_of(access_log_format::json, {.target = evil})
            .find(
                R"("target":"x\" 200 1\u000d\u000a10.0.0.1 - - \\ \u001b[31m \u007f \ufffd \u009b \u0000",)"),
        std::string::npos);
}

TEST(access_log, cuts_long_texts_at_the_limit) {
    for (const std::size_t size :
         {http::access_log_text - 1, http::access_log_text, http::access_log_text + 1}) {
        const std::string agent(size, 'a');
        const std::string kept(std::min(size, http::access_log_text), 'a');
        EXPECT_TRUE(line_of(access_log_format::combined, {.fields = {{"User-Agent", agent}}})
                        .ends_with(" \"" + kept + "\"\n"));
        EXPECT_TRUE(line_of(access_log_format::json, {.fields = {{"User-Agent", agent}}})
                        .ends_with("\":\"" + kept + "\"}\n"));
    }
}

TEST(access_log, of_the_worst_request_fits_into_its_buffer) {
    const std::string worst(http::access_log_text + 1, '\x01');
    const std::string line = line_of(
        access_log_format::json,
        {.target = worst, .host = worst, .fields = {{"Referer", worst}, {"User-Agent", worst}}});
    EXPECT_LT(line.size(), fs::line_file_options().buffer);
}

TEST(access_log, goes_to_its_file) {
    const coracle::testing::temporary_directory all;
    http::access_log_file log(
        {.path = (all.path() / "log").string(), .format = access_log_format::combined});
    const auto peer = net::address::parse("192.0.2.1:999");
    http::request req;
    log.observe({*peer, req, http::status::ok, 1, {}, 0});
    log.flush();
    std::ifstream in(all.path() / "log");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(text, "192.0.2.1 - - [01/Jan/1970:00:00:00 +0000] \"-\" 200 1 \"-\" \"-\"\n");
}

TEST(access_log_format, has_names) {
    for (const auto f :
         {access_log_format::common, access_log_format::combined, access_log_format::json}) {
        EXPECT_EQ(http::parse_access_log_format(http::to_string(f)), f);
    }
    EXPECT_EQ(http::parse_access_log_format("Common"), std::nullopt);
}
