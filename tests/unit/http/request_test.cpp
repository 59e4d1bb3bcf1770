#include <coracle/http/request.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace coracle;
using http::request;
using http::status_error;

namespace {

void set_query(request& req, std::string_view text) {
    request::parts p;
    p.query = text;
    req.assign(p);
}

}  // namespace

TEST(request, holds_what_it_is_made_of) {
    const auto peer = net::address::v4({127, 0, 0, 1}, 80);
    request::parts p;
    p.method = http::method::post;
    p.method_text = "POST";
    p.target = "/a%20b?x=1";
    p.path = "/a b";
    p.query = "x=1";
    p.host = "example.org";
    p.version = http::version::http_1_0;
    p.peer = &peer;
    request req;
    req.assign(p);
    EXPECT_EQ(req.method(), http::method::post);
    EXPECT_EQ(req.method_text(), "POST");
    EXPECT_EQ(req.target(), "/a%20b?x=1");
    EXPECT_EQ(req.path(), "/a b");
    EXPECT_EQ(req.query_text(), "x=1");
    EXPECT_EQ(req.host(), "example.org");
    EXPECT_EQ(req.version(), http::version::http_1_0);
    EXPECT_EQ(req.peer(), peer);
    EXPECT_TRUE(req.body().ended());
}

TEST(request, forgets_its_fields_and_parameters_when_cleared) {
    request req;
    req.add_param("id", "7");
    req.fields().add("X-Own", "1");
    req.clear();
    EXPECT_EQ(req.param("id"), "");
    EXPECT_EQ(req.param_count(), 0u);
    EXPECT_EQ(req.header("x-own"), "");
    EXPECT_TRUE(req.body().ended());
}

TEST(request, gives_the_first_query_parameter_decoded) {
    request req;
    set_query(req, "a=1&b=x%20y+z&a=2&empty=&flag&c%3Dd=e%26f&=nameless");
    EXPECT_EQ(req.query("a"), "1");
    EXPECT_EQ(req.query("b"), "x y z");
    EXPECT_EQ(req.query("empty"), "");
    EXPECT_EQ(req.query("flag"), "");
    EXPECT_EQ(req.query("c=d"), "e&f");
    EXPECT_EQ(req.query(""), "nameless");
    EXPECT_EQ(req.query("none"), std::nullopt);
}

TEST(request, survives_queries_that_are_malformed) {
    for (const char* text : {"&", "=", "&&a=1&&", "%=1&a=1", "%zz&a=1", "a%=2&a=1"}) {
        request req;
        set_query(req, text);
        EXPECT_EQ(req.query("none"), std::nullopt) << text;
        if (std::string_view(text).find("a=1") != std::string_view::npos) {
            EXPECT_EQ(req.query("a"), "1") << text;
        }
    }
    request req;
    set_query(req, "a=50%&%b=%zz");
    EXPECT_EQ(req.query("a"), "50%");
    EXPECT_EQ(req.query("%b"), "%zz");
}

TEST(request, reads_numbers_whole_and_within_their_range) {
    request req;
    set_query(req, "n=42&neg=-7&big=300&junk=4x&space=+4&empty=&plus=%2B4&hex=0x10");
    EXPECT_EQ(req.query<int>("n"), 42);
    EXPECT_EQ(req.query<int>("neg"), -7);
    EXPECT_EQ(req.query<int>("none", 5), 5);
    EXPECT_EQ(req.query<int>("none"), 0);
    EXPECT_THROW(req.query<unsigned>("neg"), status_error);
    EXPECT_THROW(req.query<std::uint8_t>("big"), status_error);
    for (const char* name : {"junk", "space", "empty", "plus", "hex"}) {
        EXPECT_THROW(req.query<int>(name), status_error) << name;
    }
    try {
        req.query<int>("junk");
    } catch (const status_error& e) {
        EXPECT_EQ(e.code(), http::status::bad_request);
        EXPECT_NE(std::string(e.what()).find("'junk'"), std::string::npos);
    }
}

TEST(request, gives_the_parameters_of_its_route) {
    request req;
    req.add_param("id", "17");
    req.add_param("name", "x");
    EXPECT_EQ(req.param("id"), "17");
    EXPECT_EQ(req.param<int>("id"), 17);
    EXPECT_EQ(req.param("none"), "");
    EXPECT_THROW(req.param<int>("name"), status_error);
    EXPECT_THROW(req.param<int>("none"), status_error);
    req.clear_params(1);
    EXPECT_EQ(req.param("name"), "");
    EXPECT_EQ(req.param("id"), "17");
}

TEST(request, holds_as_many_parameters_as_a_pattern_can_have) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i <= request::most_params; ++i)
        names.push_back("p" + std::to_string(i));
    request req;
    for (int turn = 0; turn != 2; ++turn) {
        for (std::size_t i = 0; i != request::most_params; ++i) {
            EXPECT_TRUE(req.put_param(names[i], names[i]));
        }
        EXPECT_FALSE(req.put_param(names.back(), "one too many"));
        EXPECT_TRUE(req.put_param(names[9], "another"));
        EXPECT_EQ(req.param_count(), request::most_params);
        for (std::size_t i = 0; i != request::most_params; ++i) {
            EXPECT_EQ(req.param(names[i]), i == 9 ? "another" : names[i]);
        }
        req.clear_params(6);
        EXPECT_EQ(req.param(names[5]), names[5]);
        EXPECT_EQ(req.find_param(names[6]), nullptr);
        // A reused request finds its room for them anew.
        req.clear();
        EXPECT_EQ(req.find_param(names[0]), nullptr);
    }
}

TEST(status_category, has_words_for_a_status) {
    const auto code = make_error_code(http::status::content_too_large);
    EXPECT_EQ(code.value(), 413);
    EXPECT_NE(code.message().find("413"), std::string::npos);
    EXPECT_STREQ(code.category().name(), "http status");
}

namespace {

struct farewell {
    explicit farewell(std::string& to) : log(&to) {}
    farewell(farewell&& other) noexcept : log(std::exchange(other.log, nullptr)) {}
    ~farewell() {
        if (log != nullptr) *log += "gone";
    }
    std::string* log;
};

}  // namespace

TEST(request, keeps_what_is_left_for_it_until_it_is_cleared) {
    std::string log;
    request req;
    EXPECT_EQ(req.data<farewell>(), nullptr);
    req.set_data(farewell(log));
    req.emplace_data<int>(7);
    const request& same = req;
    ASSERT_NE(same.data<int>(), nullptr);
    EXPECT_EQ(*same.data<int>(), 7);
    EXPECT_EQ(log, "");
    req.clear();
    EXPECT_EQ(log, "gone");
    EXPECT_EQ(req.data<int>(), nullptr);
    EXPECT_EQ(req.emplace_data<int>(8), 8);
}

/// A value that a middleware leaves may refer to that middleware.
TEST(request, keeps_its_routes_until_what_was_left_for_it_is_gone) {
    static bool gone;
    static bool gone_first;
    struct left {
        ~left() { gone = true; }
    };
    for (const bool cleared : {false, true}) {
        gone = gone_first = false;
        http::detail::pin routes;
        routes.retired = true;
        routes.dispose = [](http::detail::pin*) noexcept { gone_first = gone; };
        {
            request req;
            req.hold(routes);
            req.emplace_data<left>();
            if (cleared) req.clear();
        }
        EXPECT_TRUE(gone_first) << cleared;
    }
}

TEST(request, tells_a_parameter_that_is_empty_from_none) {
    request req;
    req.add_param("rest", "");
    ASSERT_NE(req.find_param("rest"), nullptr);
    EXPECT_EQ(*req.find_param("rest"), "");
    EXPECT_EQ(req.find_param("other"), nullptr);
}
