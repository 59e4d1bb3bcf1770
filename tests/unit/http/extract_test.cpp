#include "support/virtual_time.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/http/handler.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <string>

using namespace coracle;
using coracle::testing::run_virtually;
using http::handler;
using http::request;
using http::response;
using http::status;

enum class colour : std::uint8_t { red, green };
template <>
struct http::enum_names<colour> {
    static constexpr std::pair<std::string_view, colour> values[] = {{"red", colour::red},
                                                                     {"green", colour::green}};
};

struct user {
    std::string name;
};
template <>
struct http::from_request<user> {
    static std::expected<user, rejection> extract(request& req) {
        const auto name = req.cookie("user");
        if (!name) return std::unexpected(rejection{http::status::unauthorized, "who are you?"});
        return user{std::string(*name)};
    }
};

struct slow_user {
    std::string name;
};
template <>
struct http::from_request<slow_user> {
    static constexpr body_use body = body_use::none;
    static task<std::expected<slow_user, rejection>> extract(request& req) {
        co_return slow_user{std::string(req.header("X-User"))};
    }
};

namespace {

class pieces final : public http::body_source {
public:
    explicit pieces(std::deque<std::string> all) : all_(std::move(all)) {}
    task<std::expected<std::string_view, error>> read() override {
        ++reads;
        if (all_.empty()) co_return std::string_view();
        current_ = std::move(all_.front());
        all_.pop_front();
        co_return std::string_view(current_);
    }
    std::optional<std::uint64_t> length() const noexcept override { return std::nullopt; }
    int reads = 0;

private:
    std::deque<std::string> all_;
    std::string current_;
};

/// One request, handed to one handler.
struct asked {
    explicit asked(std::string_view query = {}) {
        request::parts p;
        p.query = query;
        req.assign(p);
    }
    asked& param(std::string_view name, std::string_view value) {
        req.add_param(name, value);
        return *this;
    }
    asked& field(std::string_view name, std::string_view value) {
        req.fields().add(name, value);
        return *this;
    }
    asked& body(std::deque<std::string> all, std::string_view media = {}) {
        source = std::make_unique<pieces>(std::move(all));
        req.set_body(http::received_body(source.get()));
        if (!media.empty()) req.fields().set("Content-Type", media);
        return *this;
    }
    asked& form(std::string_view text) {
        return body({std::string(text)}, "application/x-www-form-urlencoded");
    }

    /// "status body"; `waited` tells whether a task was made.
    std::string by(const handler& h) {
        response res;
        task<response> pending;
        waited = !h.call(req, res, pending);
        if (waited) {
            res = run_virtually([&]() -> task<response> {
                response got = co_await std::move(pending);
                co_return got;
            });
        }
        type = res.default_type();
        return std::to_string(static_cast<int>(res.status())) + ' ' +
               std::string(res.body().bytes());
    }

    std::unique_ptr<pieces> source;
    request req;
    std::string type;
    bool waited = false;
};

template <class T>
handler echo_of_query() {
    return handler([](http::query<"v", T> v) {
        if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
            return std::string(*v);
        } else {
            return std::to_string(*v);
        }
    });
}

TEST(extract, parameters_come_in_any_order_beside_the_request) {
    const handler h([](http::query<"q", std::string> q, request& req, http::path<"id", int> id,
                       http::header<"X-Own"> own, http::cookie<"c"> c) {
        return *q + '|' + std::to_string(id) + '|' + std::string(own) + '|' + std::string(*c) +
               '|' + std::string(req.query_text());
    });
    asked a("q=a+b%21");
    EXPECT_EQ(a.param("id", "7").field("x-own", "o").field("Cookie", "b=1; c=2").by(h),
              "200 a b!|7|o|2|q=a+b%21");
    EXPECT_FALSE(a.waited);
}

TEST(extract, a_missing_value_is_named) {
    EXPECT_EQ(asked().by(handler([](http::query<"page", int>) { return ""; })),
              "400 query parameter 'page' is missing\n");
    EXPECT_EQ(asked().by(handler([](http::header<"X-Own">) { return ""; })),
              "400 field 'X-Own' is missing\n");
    EXPECT_EQ(asked().by(handler([](http::cookie<"c">) { return ""; })),
              "400 cookie 'c' is missing\n");
    EXPECT_EQ(asked().by(handler([](http::path<"id">) { return ""; })),
              "400 path parameter 'id' is missing\n");
    EXPECT_EQ(asked().form("a=1").by(handler([](http::form_field<"b">) { return ""; })),
              "400 form field 'b' is missing\n");
}

TEST(extract, integers_are_checked_against_their_range) {
    const auto small = echo_of_query<std::int8_t>();
    EXPECT_EQ(asked("v=-128").by(small), "200 -128");
    EXPECT_EQ(asked("v=127").by(small), "200 127");
    for (const char* text : {"-129", "128", "x", "1x", " 1", "+1", "", "1.0", "0x1"}) {
        const std::string query = "v=" + std::string(text);
        const std::string shown = text == std::string("+1") ? " 1" : text;
        EXPECT_EQ(asked(query).by(small), "400 query parameter 'v': '" + shown +
                                              "' is not an integer between -128 and 127\n");
    }
    EXPECT_EQ(asked("v=18446744073709551615").by(echo_of_query<std::uint64_t>()),
              "200 18446744073709551615");
    EXPECT_EQ(asked("v=18446744073709551616").by(echo_of_query<std::uint64_t>()),
              "400 query parameter 'v': '18446744073709551616' is not an integer between 0 and "
              "18446744073709551615\n");
    EXPECT_EQ(asked("v=-1").by(echo_of_query<unsigned>()),
              "400 query parameter 'v': '-1' is not an integer between 0 and 4294967295\n");
}

TEST(extract, other_types_of_values) {
    EXPECT_EQ(asked("v=0.5").by(echo_of_query<double>()), "200 0.500000");
    for (const char* query : {"v=x", "v=inf", "v=nan", "v=1e999", "v="}) {
        EXPECT_TRUE(asked(query).by(echo_of_query<double>()).ends_with("' is not a number\n"));
    }
    for (const char* query : {"v=true", "v=1", "v=on"}) {
        EXPECT_EQ(asked(query).by(echo_of_query<bool>()), "200 1");
    }
    for (const char* query : {"v=false", "v=0", "v=off"}) {
        EXPECT_EQ(asked(query).by(echo_of_query<bool>()), "200 0");
    }
    EXPECT_EQ(asked("v=yes").by(echo_of_query<bool>()),
              "400 query parameter 'v': 'yes' is neither true nor false\n");
    const handler h([](http::query<"v", colour> v) { return *v == colour::green ? "g" : "r"; });
    EXPECT_EQ(asked("v=green").by(h), "200 g");
    EXPECT_EQ(asked("v=blue").by(h), "400 query parameter 'v': 'blue' is none of red, green\n");
}

TEST(extract, what_may_be_missing_is_optional_but_must_be_well_formed) {
    const handler h([](http::query<"page", std::optional<int>> page) {
        return std::to_string(page->value_or(1));
    });
    EXPECT_EQ(asked().by(h), "200 1");
    EXPECT_EQ(asked("page=3").by(h), "200 3");
    EXPECT_TRUE(asked("page=x").by(h).starts_with("400 query parameter 'page': 'x' is not"));
}

TEST(extract, repeated_values_are_a_vector) {
    const handler h([](http::query<"n", std::vector<int>> n) {
        int sum = 0;
        for (const int i : *n) sum += i;
        return std::to_string(n->size()) + ':' + std::to_string(sum);
    });
    EXPECT_EQ(asked().by(h), "200 0:0");
    EXPECT_EQ(asked("n=1&m=9&n=2&%6e=3").by(h), "200 3:6");
    EXPECT_TRUE(asked("n=1&n=x").by(h).starts_with("400 query parameter 'n': 'x' is not"));
    const handler lines(
        [](http::header<"X-A", std::vector<std::string>> all) { return all->at(0) + all->at(1); });
    EXPECT_EQ(asked().field("X-A", "1").field("X-B", "2").field("x-a", "3").by(lines), "200 13");
    const handler cookies([](http::cookie<"a", std::vector<std::string>> all) {
        return all->at(0) + all->at(1) + all->at(2);
    });
    EXPECT_EQ(asked().field("Cookie", "a=1; b=2; a=3").field("Cookie", "a=4").by(cookies),
              "200 134");
}

TEST(extract, views_live_as_long_as_the_request) {
    const handler h([](http::query<"a", std::string_view> a, http::query<"b"> b) -> task<response> {
        co_await yield();
        co_return std::string(*a) + std::string(*b);
    });
    asked a("a=%61+%2B&b=plain");
    EXPECT_EQ(a.by(h), "200 a +plain");
    EXPECT_TRUE(a.waited);
}

TEST(extract, a_percent_sign_that_begins_no_escape_is_one_for_all_readers) {
    const handler h([](http::query<"%v", std::string> extracted, request& req) {
        return *extracted + '|' + req.query("%v").value_or("none") + '|' +
               std::string(http::form::parse(req.query_text())->get("%v").value_or("none"));
    });
    for (const std::string value : {"50%", "%zz", "%4", "%%", "100%25%"}) {
        const std::string plain = value == "100%25%" ? "100%%" : value;
        EXPECT_EQ(asked("%v=" + value).by(h), "200 " + plain + '|' + plain + '|' + plain);
    }
    EXPECT_EQ(asked("%zz=1&%v=2").by(h), "200 2|2|2");
}

TEST(extract, what_a_client_sent_is_shown_cut_and_without_control_bytes) {
    const std::string longer = "v=" + std::string(65, 'x');
    EXPECT_EQ(
        asked(longer).by(echo_of_query<bool>()),
        "400 query parameter 'v': '" + std::string(64, 'x') + "...' is neither true nor false\n");
    EXPECT_EQ(asked("v=%0D%0a%00%7F").by(echo_of_query<bool>()),
              "400 query parameter 'v': '" + std::string(4, '?') + "' is neither true nor false\n");
}

TEST(extract, a_client_that_accepts_json_gets_a_problem) {
    const auto h = echo_of_query<bool>();
    asked a("v=%22%ff");
    EXPECT_EQ(a.field("Accept", "text/html;q=0.5, application/json").by(h),
              "400 {\"title\":\"Bad Request\",\"status\":400,\"detail\":\"query parameter 'v': "
              "'\\\"\xef\xbf\xbd' is neither true nor false\"}");
    EXPECT_EQ(a.type, "application/problem+json");
    for (const char* accept : {"*/*", "text/plain", "application/json;q=0", "application/jsonx",
                               "application/problem+json; q=0.0"}) {
        EXPECT_EQ(asked().field("Accept", accept).by(h), "400 query parameter 'v' is missing\n")
            << accept;
    }
    for (const char* accept : {"application/problem+json", "application/JSON; q=0.1",
                               "text/*, application/json;charset=utf-8"}) {
        EXPECT_TRUE(asked().field("Accept", accept).by(h).starts_with("400 {")) << accept;
    }
}

TEST(extract, types_of_the_user_are_extracted_by_the_trait) {
    const handler h([](user u, http::query<"q"> q) { return u.name + std::string(*q); });
    EXPECT_EQ(asked("q=1").field("Cookie", "user=eve").by(h), "200 eve1");
    EXPECT_EQ(asked("q=1").by(h), "401 who are you?\n");
}

TEST(extract, an_extractor_that_waits_makes_a_task_and_may_stand_beside_a_body) {
    const handler h([](http::text_body text, slow_user u) { return *text + u.name; });
    asked a;
    EXPECT_EQ(a.body({"one ", "two "}).field("X-User", "eve").by(h), "200 one two eve");
    EXPECT_TRUE(a.waited);
}

TEST(extract, a_request_is_refused_before_its_body_is_read) {
    const handler h([](http::text_body, http::query<"q">) { return ""; });
    asked a;
    EXPECT_EQ(a.body({"x"}).by(h), "400 query parameter 'q' is missing\n");
    EXPECT_EQ(a.source->reads, 0);
}

TEST(extract, a_body_has_a_limit) {
    const handler h([](http::limited_text_body<4> text) { return *text; });
    EXPECT_EQ(asked().by(h), "200 ");
    EXPECT_EQ(asked().body({"abc"}).by(h), "200 abc");
    EXPECT_EQ(asked().body({"ab", "cd"}).by(h), "200 abcd");
    EXPECT_EQ(asked().body({"abc", "de"}).by(h), "413 the body is larger than is accepted\n");
}

TEST(extract, fields_of_a_form_share_one_body) {
    const handler h([](http::form_field<"a", int> a,
                       http::form_field<"b", std::vector<std::string>> b,
                       http::form_field<"c", std::optional<bool>> c, http::form all) {
        return std::to_string(a) + b->at(1) + (c->has_value() ? "c" : "-") +
               std::to_string(all.size());
    });
    EXPECT_EQ(asked().form("a=1&b=x&b=y+z").by(h), "200 1y z-3");
    EXPECT_EQ(asked().form("b=x&c=on&b=y&a=5").by(h), "200 5yc4");
    EXPECT_TRUE(asked().form("a=x").by(h).starts_with("400 form field 'a': 'x' is not an integer"));
    EXPECT_EQ(asked().body({"a=1"}, "text/plain").by(h),
              "415 the body is not of the type that is expected\n");
}

TEST(extract, data_of_the_request_is_taken_by_reference) {
    const handler h([](http::data<std::string> s) {
        *s += '!';
        return *s;
    });
    asked a;
    a.req.set_data(std::string("eve"));
    EXPECT_EQ(a.by(h), "200 eve!");
    EXPECT_EQ(*a.req.data<std::string>(), "eve!");
    EXPECT_THROW(asked().by(h), exception);
}

std::string by_function(http::query<"q", std::string> q) {
    return *q;
}
std::string by_function_that_is_noexcept(http::query<"q"> q) noexcept {
    return std::string(*q);
}
task<response> by_coroutine(http::query<"q", std::string> q, http::text_body text) {
    co_await yield();
    co_return *q + *text;
}
struct functor {
    std::string operator()(http::query<"q", std::string> q) const { return *q + suffix; }
    std::string suffix;
};

TEST(extract, functions_functors_and_coroutines_are_handlers) {
    EXPECT_EQ(asked("q=1").by(by_function), "200 1");
    EXPECT_EQ(asked("q=1").by(handler(&by_function)), "200 1");
    EXPECT_EQ(asked("q=1").by(by_function_that_is_noexcept), "200 1");
    EXPECT_EQ(asked("q=1").by(functor{"x"}), "200 1x");
    EXPECT_EQ(asked("q=1").body({"y"}).by(by_coroutine), "200 1y");
    EXPECT_EQ(asked().by(handler([] { return "nothing asked"; })), "200 nothing asked");
}

TEST(extract, results_may_be_whatever_a_response_can_be_made_of) {
    using q = http::query<"q", int>;
    EXPECT_EQ(asked("q=1").by(handler([](q) { return status::no_content; })), "204 ");
    EXPECT_EQ(asked("q=1").by(handler([](q) { return "text"; })), "200 text");
    EXPECT_EQ(asked("q=1").by(handler([](q) -> task<std::string> { co_return "text"; })),
              "200 text");
    EXPECT_EQ(asked("q=1").by(handler([](q, http::text_body) { return status::created; })), "201 ");
    EXPECT_EQ(asked("q=1").by(
                  handler([](q, http::text_body) -> task<status> { co_return status::accepted; })),
              "202 ");
}

TEST(extract, a_handler_tells_the_names_in_the_path_that_it_needs) {
    const handler h([](http::path<"id", int>, http::query<"q">, http::path<"name">) { return ""; });
    ASSERT_EQ(h.path_names().size(), 2u);
    EXPECT_EQ(h.path_names()[0], "id");
    EXPECT_EQ(h.path_names()[1], "name");
    EXPECT_TRUE(handler([](http::query<"q">) { return ""; }).path_names().empty());
    EXPECT_TRUE(handler([](request&) { return ""; }).path_names().empty());
    EXPECT_TRUE(handler().path_names().empty());
}

}  // namespace
