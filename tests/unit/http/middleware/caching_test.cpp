// Middleware for caches: ETags, Cache-Control.

#include "unit/http/middleware/asked.hpp"

#include <coracle/http/middleware/cache_fields.hpp>
#include <coracle/http/middleware/etag.hpp>

#include <memory>

using namespace middleware_test;

namespace {

using field_values = std::vector<std::pair<std::string, std::string>>;

/// A handler whose response has these fields.
http::handler page(std::string text, field_values all = {}, http::status code = http::status::ok) {
    return [text, all, code](http::request&) {
        http::response r(code, text);
        for (const auto& [name, value] : all) r.set(name, value);
        return r;
    };
}

std::unique_ptr<asked> ask(const http::handler& h, std::string_view method = "GET",
                           field_list fields = {}) {
    auto a = std::make_unique<asked>(method, fields);
    run_virtually([&] { return a->by(h); });
    return a;
}

std::string tag_of(const http::handler& h) {
    return ask(h)->header("ETag");
}

}  // namespace

TEST(etag, names_the_content) {
    const http::etag tags;
    const std::string tag = tag_of(tags(page("a")));
    EXPECT_EQ(tag.size(), 24u);
    EXPECT_TRUE(tag.starts_with('"') && tag.ends_with('"'));
    EXPECT_EQ(tag_of(tags(page("a"))), tag);
    EXPECT_NE(tag_of(tags(page("b"))), tag);
    EXPECT_NE(tag_of(tags(page(""))), "");
    EXPECT_EQ(ask(tags(page("a")), "HEAD")->header("ETag"), tag);
    EXPECT_EQ(ask(tags(waiting()))->header("ETag"), tag_of(tags(plain())));
}

TEST(etag, leaves_other_responses_alone) {
    const http::etag tags;
    EXPECT_EQ(ask(tags(page("a")), "POST")->header("ETag"), "");
    EXPECT_EQ(tag_of(tags(page("a", {}, http::status::not_found))), "");
    EXPECT_EQ(tag_of(tags(page("a", {{"Cache-Control", "private, no-store"}}))), "");
    http::etag_options o;
    o.longest = 3;
    EXPECT_NE(tag_of(http::etag(o)(page("abc"))), "");
    EXPECT_EQ(tag_of(http::etag(o)(page("abcd"))), "");
    const http::handler streamed = [](http::request&) {
        return http::stream([](http::body_writer&) -> task<> { co_return; });
    };
    EXPECT_EQ(tag_of(tags(streamed)), "");
    EXPECT_EQ(tag_of(tags(page("a", {{"ETag", "W/\"own\""}}))), "W/\"own\"");
    const auto weak =
        ask(tags(page("a", {{"ETag", "W/\"own\""}})), "GET", {{"If-None-Match", "W/\"own\""}});
    EXPECT_EQ(weak->status(), 304);
    EXPECT_EQ(weak->header("ETag"), "W/\"own\"");
}

TEST(etag, responds_with_304_to_who_has_it) {
    const http::handler h = http::etag()(page(
        "text", {{"Content-Language", "de"}, {"Cache-Control", "no-cache"}, {"Vary", "Accept"}}));
    const std::string tag = tag_of(h);
    for (const std::string& given :
         {tag, "W/" + tag, "\"x\", " + tag, std::string("*"), tag + ", \"y\""}) {
        const auto a = ask(h, "GET", {{"If-None-Match", given}});
        EXPECT_EQ(a->status(), 304) << given;
        EXPECT_EQ(a->text(), "");
        EXPECT_EQ(a->header("ETag"), tag);
        EXPECT_EQ(a->header("Cache-Control"), "no-cache");
        EXPECT_EQ(a->header("Vary"), "Accept");
        EXPECT_EQ(a->header("Content-Language"), "");
    }
    for (const std::string& given : {std::string("\"x\""), tag.substr(1), std::string("W/\"x\"")}) {
        EXPECT_EQ(ask(h, "GET", {{"If-None-Match", given}})->status(), 200) << given;
    }
    EXPECT_EQ(ask(h, "GET", {{"If-Match", tag}})->status(), 200);
    EXPECT_EQ(ask(h, "GET", {{"If-Match", "\"x\""}})->status(), 412);
    // Dates mean nothing where the response has none.
    constexpr std::string_view date = "Sun, 06 Nov 1994 08:49:37 GMT";
    EXPECT_EQ(ask(h, "GET", {{"If-Modified-Since", date}})->status(), 200);
    EXPECT_EQ(ask(h, "GET", {{"If-Unmodified-Since", date}})->status(), 200);
    EXPECT_EQ(ask(h, "GET", {{"If-Unmodified-Since", date}, {"If-None-Match", "\"x\""}})->status(),
              200);
    EXPECT_EQ(ask(h, "GET", {{"If-Modified-Since", date}, {"If-Match", tag}})->status(), 200);
    const http::handler dated = http::etag()(page("text", {{"Last-Modified", std::string(date)}}));
    EXPECT_EQ(ask(dated, "GET", {{"If-Modified-Since", date}})->status(), 304);
}

TEST(etag, leaves_the_fields_of_middleware_in_a_412) {
    const http::handler h = http::etag()(page("a", {{"Access-Control-Allow-Origin", "*"}}));
    const auto a = ask(h, "GET", {{"If-Match", "\"x\""}});
    EXPECT_EQ(a->status(), 412);
    EXPECT_EQ(a->header("Access-Control-Allow-Origin"), "*");
    EXPECT_EQ(a->header("ETag"), "");
}

// Caches put the fields of a 304 in place of those that they have.
TEST(etag, leaves_the_policy_of_a_page_in_a_304) {
    const http::handler h = http::etag()(page("a", {{"Content-Security-Policy", "sandbox"},
                                                    {"Content-Type", "text/html"},
                                                    {"Content-Language", "en"}}));
    const auto a = ask(h, "GET", {{"If-None-Match", tag_of(h)}});
    EXPECT_EQ(a->status(), 304);
    EXPECT_EQ(a->header("Content-Security-Policy"), "sandbox");
    EXPECT_EQ(a->header("Content-Type"), "");
    EXPECT_EQ(a->header("Content-Language"), "");
}

TEST(cache_fields, follow_type_path_and_status) {
    http::cache_field_options o;
    o.rules = {{.type = "image/*", .cache_control = "max-age=60"},
               {.path = "/", .cache_control = "max-age=5", .vary = "Accept, Accept-Language"}};
    const http::cache_fields cached(o);
    const auto control = [&](const http::handler& h, std::string_view method = "GET") {
        return ask(cached(h), method)->header("Cache-Control");
    };
    EXPECT_EQ(control(page("x", {{"Content-Type", "image/png"}})), "max-age=60");
    EXPECT_EQ(control(plain()), "max-age=5");
    EXPECT_EQ(control(waiting()), "max-age=5");
    EXPECT_EQ(control(plain(), "POST"), "no-store");
    EXPECT_EQ(control(page("x", {}, http::status::not_found)), "no-store");
    EXPECT_EQ(control(page("x", {{"Cache-Control", "private"}})), "private");
    const auto varied = ask(cached(page("x", {{"Vary", "accept"}})));
    EXPECT_EQ(varied->all("Vary"), "accept; Accept-Language");
    EXPECT_EQ(ask(cached(page("x", {{"Vary", "*"}})))->all("Vary"), "*");
    EXPECT_EQ(ask(http::cache_fields()(plain()))->header("Cache-Control"), "no-cache");
    o.rules = {{.path = "/assets/", .cache_control = "max-age=9"}, {.type = "text/plain"}};
    o.uncached = "";
    EXPECT_EQ(ask(http::cache_fields(o)(plain()))->header("Cache-Control"), "");
    EXPECT_EQ(ask(http::cache_fields(o)(plain()), "POST")->header("Cache-Control"), "");
    o.rules[0].vary = "a\nb";
    EXPECT_EQ(refusal_of([&] { http::cache_fields{o}; }), "a\nb");
}

TEST(cache_fields, say_nothing_by_a_type_that_a_304_does_not_have) {
    http::cache_field_options o;
    o.rules = {{.path = "/assets/", .cache_control = "max-age=9"},
               {.type = "image/*", .cache_control = "max-age=60", .vary = "Accept"}};
    const http::cache_fields cached(o);
    const http::handler image = cached(http::etag()(page("x", {{"Content-Type", "image/png"}})));
    const auto whole = ask(image);
    EXPECT_EQ(whole->header("Cache-Control"), "max-age=60");
    const auto again = ask(image, "GET", {{"If-None-Match", whole->header("ETag")}});
    EXPECT_EQ(again->status(), 304);
    EXPECT_EQ(again->header("Cache-Control"), "");
    const http::handler typed =
        cached(page("", {{"Content-Type", "image/png"}}, http::status::not_modified));
    EXPECT_EQ(ask(typed)->header("Cache-Control"), "max-age=60");
    o.rules.erase(o.rules.begin() + 1);
    const http::handler no_types = http::cache_fields(o)(page("", {}, http::status::not_modified));
    EXPECT_EQ(ask(no_types)->header("Cache-Control"), "no-cache");
    o.rules.insert(o.rules.begin(), {.path = "/", .cache_control = "max-age=5"});
    o.rules.push_back({.type = "image/*", .cache_control = "max-age=60"});
    const http::handler by_path = http::cache_fields(o)(page("", {}, http::status::not_modified));
    EXPECT_EQ(ask(by_path)->header("Cache-Control"), "max-age=5");
}
