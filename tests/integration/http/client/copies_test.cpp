// Requests that are made more than once.

#include "support/client_calls.hpp"
#include "support/each_version.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/testing/local_server.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using ::testing::HasSubstr;

class client_copies : public each_version {
protected:
    /// Makes a call twice; the requests that the server received, if they are equal.
    std::string told_twice(http::call c) {
        const std::string before = c.copy().wait().body;
        http::call later = c.copy();
        const std::string first = std::move(c).wait().body;
        EXPECT_EQ(first, before);
        EXPECT_EQ(later.copy().wait().body, first);
        EXPECT_EQ(std::move(later).wait().body, first);
        return first;
    }

    local_server server_{tell_request};
    http::client client_{options()};
};

TEST_P(client_copies, are_the_same_request) {
    const std::string told = told_twice(client_.request("PURGE", server_.url("/a"))
                                            .query("q", "boats")
                                            .header("X-A", "1")
                                            .add_header("X-A", "2")
                                            .basic("Ada", "geheim"));
    EXPECT_THAT(told, HasSubstr("PURGE /a?q=boats\n"));
    EXPECT_THAT(told, HasSubstr("X-A: 1\nX-A: 2\n"));
    EXPECT_THAT(told, HasSubstr("Authorization: Basic "));
}

TEST_P(client_copies, have_the_same_body) {
    EXPECT_EQ(body_told(told_twice(client_.post(server_.url()).body("bytes"))), "bytes");
    EXPECT_EQ(body_told(told_twice(client_.post(server_.url()).form("a", "1").form("b", "2"))),
              "a=1&b=2");
    const temporary_directory folder;
    const std::string path = folder.write("a.txt", "of a file");
    EXPECT_EQ(body_told(told_twice(client_.post(server_.url()).body_file(path))), "of a file");
}

TEST_P(client_copies, have_the_same_parts) {
    const temporary_directory folder;
    http::form_body parts;
    parts.add("name", "Ada").add_file("file", folder.write("a.txt", "of a file"));
    const http::call c = client_.post(server_.url()).multipart(std::move(parts));
    for (int i = 0; i != 3; ++i) {
        const std::string told = c.copy().wait().body;
        EXPECT_THAT(told, HasSubstr("Ada"));
        EXPECT_THAT(told, HasSubstr("of a file"));
    }
}

TEST_P(client_copies, go_on_with_a_form_of_their_own) {
    http::call c = client_.post(server_.url()).form("a", "1");
    http::call other = c.copy();
    other.form("b", "2");
    EXPECT_EQ(body_told(std::move(other).wait().body), "a=1&b=2");
    EXPECT_EQ(body_told(std::move(c).wait().body), "a=1");
}

TEST_P(client_copies, cannot_have_what_a_function_writes) {
    const auto write = [](http::body_writer& out) -> task<> { co_await out.write("once"); };
    const http::call c = client_.post(server_.url()).body(http::body::stream(write));
    const error e = failure_of(c.copy());
    EXPECT_EQ(e, std::errc::operation_not_supported);
    EXPECT_THAT(e.message(), HasSubstr("written by a function"));
    http::form_body inner("mixed");
    inner.add_stream("a", "a.txt", "text/plain", write);
    http::form_body parts;
    parts.add("name", "Ada").add("inner", std::move(inner));
    const http::call form = client_.post(server_.url()).multipart(std::move(parts));
    EXPECT_EQ(failure_of(form.copy()), std::errc::operation_not_supported);
}

TEST_P(client_copies, keep_what_a_setter_could_not_do) {
    const http::call c = client_.get(server_.url()).header("no name", "1");
    EXPECT_EQ(failure_of(c.copy()), std::errc::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(over, client_copies, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
