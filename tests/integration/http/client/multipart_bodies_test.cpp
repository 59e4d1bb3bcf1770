// Bodies of several parts as a server receives them.

#include "support/client_calls.hpp"
#include "support/content.hpp"
#include "support/each_version.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/multipart.hpp>
#include <coracle/http/router.hpp>
#include <coracle/testing/local_server.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace coracle::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

task<> write_two_pieces(http::body_writer& out) {
    co_await out.write("made ");
    co_await out.write("here");
}

class client_multipart : public each_version {
protected:
    std::string told(http::form_body parts) {
        return client_.post(server_.url()).multipart(std::move(parts)).wait().body;
    }
    /// The boundaries that stand in `told`, from the outermost in.
    static std::vector<std::string> boundaries(std::string_view told) {
        constexpr std::string_view parameter = "boundary=";
        std::vector<std::string> all;
        for (std::size_t at = 0; (at = told.find(parameter, at)) != std::string_view::npos;) {
            at += parameter.size();
            all.emplace_back(told.substr(at, told.find_first_of("\r\n", at) - at));
        }
        return all;
    }
    /// `text` with CRLF at the ends of its lines, in which {0}, {1} are these boundaries.
    static std::string body_of(const std::vector<std::string>& boundaries, std::string_view text) {
        std::string body;
        for (const char c : text) body.append(c == '\n' ? "\r" : "").append(1, c);
        for (std::size_t i = 0; i != boundaries.size(); ++i) {
            const std::string name = "{" + std::to_string(i) + "}";
            for (std::size_t at = 0; (at = body.find(name, at)) != std::string::npos;) {
                body.replace(at, name.size(), boundaries[i]);
            }
        }
        return body;
    }

    const temporary_directory folder_;
    const local_server server_{tell_request};
    http::client client_{options()};
};

TEST_P(client_multipart, tells_a_file_under_the_name_that_it_is_given) {
    const std::string path = folder_.write("of disk.txt", "content");
    http::form_body parts;
    parts.add_file("file", path, "text/plain", "other \"name\".md");
    const std::string all = told(std::move(parts));
    EXPECT_THAT(all, HasSubstr("name=\"file\"; filename=\"other %22name%22.md\"\r\n"));
    EXPECT_THAT(all, HasSubstr("\r\nContent-Type: text/plain\r\n\r\ncontent\r\n"));
    EXPECT_EQ(all.find("of disk"), std::string::npos);
}

TEST_P(client_multipart, has_parts_of_every_kind_one_behind_the_other) {
    const std::string path = folder_.write("of disk.txt", "read\r\nthere");
    http::form_body parts;
    parts.add("name", "Ada");
    parts.add_data("data", "a \"b\".bin", std::string("\0\r\n--x", 6), "image/png");
    parts.add_file("file", path, "text/plain");
    parts.add_stream("stream", "s.txt", "text/csv", write_two_pieces, 9);
    parts.add_part({{"Content-Type", "text/html"}, {"X-Mine", "1"}}, "<p>");
    parts.add("empty", "");
    const std::string all = told(std::move(parts));
    const auto used = boundaries(all);
    ASSERT_EQ(used.size(), 1U);
    EXPECT_THAT(all, HasSubstr("\nContent-Type: multipart/form-data; boundary=" + used[0] + "\n"));
    std::string expected = body_of(used, R"(--{0}
Content-Disposition: form-data; name="name"

Ada
--{0}
Content-Disposition: form-data; name="data"; filename="a %22b%22.bin"
Content-Type: image/png

NUL
--x
--{0}
Content-Disposition: form-data; name="file"; filename="of disk.txt"
Content-Type: text/plain

read
there
--{0}
Content-Disposition: form-data; name="stream"; filename="s.txt"
Content-Type: text/csv

made here
--{0}
Content-Type: text/html
X-Mine: 1

<p>
--{0}
Content-Disposition: form-data; name="empty"


--{0}--
)");
    expected.replace(expected.find("NUL"), 3, 1, '\0');
    EXPECT_EQ(body_told(all), expected);
    // All sizes were known beforehand.
    EXPECT_THAT(all, HasSubstr("\nContent-Length: " + std::to_string(expected.size()) + "\n"));
}

TEST_P(client_multipart, may_have_alternatives_within) {
    const std::string path = folder_.write("logo.svg", "<svg/>");
    http::form_body page("related");
    page.add_part({{"Content-Type", "text/html"}}, "<img>");
    page.add_file("logo", path, "image/svg+xml");
    http::form_body ways("alternative");
    ways.add_part({{"Content-Type", "text/plain"}}, "plain");
    ways.add("", std::move(page));
    ways.add_stream("late", "late.txt", "text/plain", write_two_pieces);
    http::form_body message("mixed");
    message.add("before", "1");
    message.add("ways", std::move(ways));
    message.add("behind", "2");
    const std::string all = told(std::move(message));
    const auto used = boundaries(all);
    ASSERT_EQ(used.size(), 3U);
    EXPECT_NE(used[0], used[1]);
    EXPECT_NE(used[1], used[2]);
    EXPECT_NE(used[0], used[2]);
    EXPECT_THAT(all, HasSubstr("\nContent-Type: multipart/mixed; boundary=" + used[0] + "\n"));
    EXPECT_EQ(all.contains("\nTransfer-Encoding: chunked\n"), !over_http_2());
    EXPECT_EQ(body_told(all), body_of(used, R"(--{0}
Content-Disposition: form-data; name="before"

1
--{0}
Content-Disposition: form-data; name="ways"
Content-Type: multipart/alternative; boundary={1}

--{1}
Content-Type: text/plain

plain
--{1}
Content-Type: multipart/related; boundary={2}

--{2}
Content-Type: text/html

<img>
--{2}
Content-Disposition: form-data; name="logo"; filename="logo.svg"
Content-Type: image/svg+xml

<svg/>
--{2}--

--{1}
Content-Disposition: form-data; name="late"; filename="late.txt"
Content-Type: text/plain

made here
--{1}--

--{0}
Content-Disposition: form-data; name="behind"

2
--{0}--
)"));
}

/// Responds with the parts as our reader sees them: "name|filename|type|size" in a line each.
task<http::response> list_parts(http::request& req) {
    auto reading = http::read_multipart(req);
    const http::multipart_form form = co_await reading;
    std::string list;
    for (const auto& p : form) {
        list.append(p.name).append("|").append(p.filename.value_or("-")).append("|");
        list.append(p.type).append("|").append(std::to_string(p.data.size())).append("\n");
    }
    co_return http::response(std::move(list));
}

TEST_P(client_multipart, is_what_our_reader_understands) {
    const local_server server(list_parts);
    const std::string path = folder_.write("große Datei", noise_of(300'000));
    http::form_body inner("alternative");
    inner.add_part({{"Content-Type", "text/plain"}}, "plain");
    http::form_body parts;
    parts.add("name", "Ada").add_file("file", path).add("inner", std::move(inner));
    const auto r = client_.post(server.url()).multipart(std::move(parts)).wait();
    ASSERT_TRUE(r.ok()) << r.body;
    EXPECT_THAT(r.body, StartsWith("name|-|text/plain|3\n"
                                   "file|große Datei|application/octet-stream|300000\n"
                                   "inner|-|multipart/alternative; boundary="));
}

http::response go_elsewhere(http::request&) {
    return http::redirect("/elsewhere", http::status::temporary_redirect);
}

http::handler moved_once() {
    http::router routes;
    routes.post("/", go_elsewhere);
    routes.post("/elsewhere", tell_request);
    return routes;
}

TEST_P(client_multipart, is_sent_again_unless_a_function_writes_it) {
    const local_server server(moved_once());
    const std::string path = folder_.write("a.txt", "of the file");
    http::form_body parts;
    parts.add_data("data", "d", "of memory").add_file("file", path);
    const auto r = client_.post(server.url())
                       .follow(http::follow::standard)
                       .multipart(std::move(parts))
                       .wait();
    EXPECT_EQ(r.info.redirects, 1U);
    EXPECT_THAT(r.body, StartsWith("POST /elsewhere\n"));
    EXPECT_THAT(body_told(r.body), HasSubstr("\r\n\r\nof memory\r\n--"));
    EXPECT_THAT(body_told(r.body), HasSubstr("\r\n\r\nof the file\r\n--"));
    http::form_body once;
    once.add_stream("s", "s", "text/plain", write_two_pieces);
    const auto before = server.counters().requests;
    const error e = failure_of(
        client_.post(server.url()).follow(http::follow::standard).multipart(std::move(once)));
    EXPECT_EQ(e.phase(), phase::send) << e;
    EXPECT_EQ(server.counters().requests, before + 1);
}

TEST_P(client_multipart, has_what_is_in_a_file_that_does_not_say_its_size) {
    http::form_body parts;
    parts.add_file("file", "/proc/self/status").add_file("none", folder_.write("none", ""));
    const std::string all = told(std::move(parts));
    EXPECT_THAT(all, HasSubstr("filename=\"status\""));
    EXPECT_THAT(all, HasSubstr("\nPid:\t" + std::to_string(::getpid()) + '\n'));
    EXPECT_THAT(all, HasSubstr("filename=\"none\"\r\nContent-Type: application/octet-stream"
                               "\r\n\r\n\r\n--"));
}

TEST_P(client_multipart, cannot_have_a_file_that_is_not_there) {
    http::form_body parts;
    const std::string none = folder_.path() / "none";
    EXPECT_THROW(parts.add_file("file", none), exception);
    EXPECT_THROW(parts.add_file("file", folder_.path()), exception);
    const std::string all = told(std::move(parts));
    EXPECT_EQ(body_told(all), "--" + boundaries(all).at(0) + "--\r\n");
}

INSTANTIATE_TEST_SUITE_P(over, client_multipart, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
