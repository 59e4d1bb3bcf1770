#include "support/received.hpp"
#include "support/virtual_time.hpp"

#include <coracle/http/multipart.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using http::multipart_limits;
using http::multipart_reader;

namespace {

constexpr const char* form_data = "multipart/form-data; boundary=b";

std::error_code code(http::status s) {
    return make_error_code(s);
}

std::string part(const std::string& disposition, const std::string& data) {
    return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + data + "\r\n";
}

std::string file(const std::string& name, const std::string& data) {
    return part("name=\"f\"; filename=\"" + name + "\"", data);
}

/// "name(filename,type)=data|..." of what a reader gives, or its error.
task<std::string> told(http::request& req, multipart_limits limits = {}) {
    multipart_reader parts(req, limits);
    std::string all;
    for (;;) {
        auto next = co_await as_result(parts.next());
        if (!next) {
            // How much came before depends on how it was cut.
            co_return next.error().code().message() + ": " + std::string(next.error().subject());
        }
        if (*next == nullptr) co_return all;
        http::multipart_part& p = **next;
        all.append(p.name()).append("(").append(p.filename().value_or("-")).append(",");
        all.append(p.type()).append(")=");
        for (;;) {
            auto piece = co_await as_result(p.read());
            if (!piece || piece->empty()) break;
            all += *piece;
        }
        all += '|';
    }
}

/// Returns the reports for the body in pieces of every size up to 8, and at once.
std::string told_of(const std::string& body, const multipart_limits& limits = {},
                    const char* type = form_data) {
    std::string whole;
    for (const std::size_t step : {1u, 2u, 3u, 5u, 8u, 100'000u}) {
        std::string this_time;
        run_virtually([&]() -> task<> {
            received_request req(type, body, step);
            this_time = co_await told(*req, limits);
        });
        EXPECT_TRUE(whole.empty() || this_time == whole) << this_time << " in pieces of " << step;
        whole = this_time;
    }
    return whole;
}

}  // namespace

TEST(multipart_reader, gives_parts_as_they_come) {
    EXPECT_EQ(told_of(part("name=\"a\"", "1") + file("x.txt", "hello\r\n") + part("name=b", "") +
                      "--b--\r\n"),
              "a(-,text/plain)=1|f(x.txt,text/plain)=hello\r\n|b(-,text/plain)=|");
    EXPECT_EQ(told_of("--b\r\nContent-Type: image/png\r\n\r\nx\r\n--b--"), "(-,image/png)=x|");
    EXPECT_EQ(told_of("--b--"), "");
}

TEST(multipart_reader, refuses_what_is_not_multipart) {
    const std::string body = part("name=a", "1") + "--b--";
    EXPECT_EQ(told_of(body, {}, "text/plain"), "415 Unsupported Media Type: not a multipart body");
    EXPECT_EQ(told_of(body, {}, ""), "415 Unsupported Media Type: not a multipart body");
    EXPECT_EQ(told_of(body, {}, "multipart/form-data"), "400 Bad Request: the boundary is invalid");
    EXPECT_EQ(told_of(body, {}, "multipart/form-data; boundary=\"b"),
              "400 Bad Request: the boundary is invalid");
    EXPECT_EQ(told_of(body, {}, "Multipart/Mixed; Boundary=\"b\""), "a(-,text/plain)=1|");
}

TEST(multipart_reader, refuses_a_malformed_body) {
    EXPECT_EQ(told_of(part("name=a", "1") + "--b"),
              "400 Bad Request: the body ends before its last boundary");
    EXPECT_EQ(told_of(""), "400 Bad Request: the body ends before its last boundary");
    EXPECT_EQ(told_of("--bx\r\n"), "400 Bad Request: a boundary's line is malformed");
    EXPECT_EQ(told_of(part("name=a", "1") + "--b--x"),
              "400 Bad Request: a boundary's line is malformed");
    EXPECT_EQ(told_of("--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\n1\r\n--b--"),
              "400 Bad Request: a Content-Disposition is malformed");
}

TEST(multipart_reader, goes_on_to_fail_and_stays_at_the_end) {
    run_virtually([]() -> task<> {
        received_request bad(form_data, "--bx\r\n--b--");
        multipart_reader parts(*bad);
        EXPECT_FALSE(co_await as_result(parts.next()));
        EXPECT_FALSE(co_await as_result(parts.next()));
        received_request good(form_data, "--b--");
        multipart_reader none(*good);
        EXPECT_EQ(co_await none.next(), nullptr);
        EXPECT_EQ(co_await none.next(), nullptr);
    });
}

TEST(multipart_reader, passes_over_what_was_not_read) {
    run_virtually([]() -> task<> {
        received_request req(
            form_data, part("name=a", std::string(100, 'x')) + part("name=b", "2") + "--b--", 7);
        multipart_reader parts(*req);
        auto* first = co_await parts.next();
        EXPECT_EQ(first->name(), "a");
        EXPECT_FALSE((co_await first->read()).empty());
        auto* second = co_await parts.next();
        EXPECT_EQ(second->name(), "b");
        EXPECT_EQ(co_await second->text(), "2");
        EXPECT_EQ(co_await second->text(), "");
        EXPECT_EQ(co_await second->read(), "");
        EXPECT_EQ(co_await parts.next(), nullptr);
        EXPECT_TRUE((*req).body().ended());
    });
}

TEST(multipart_reader, holds_its_limits_to_the_byte) {
    const std::string two = file("x", "12345") + file("y", "6") + "--b--";
    const std::string whole = "f(x,text/plain)=12345|f(y,text/plain)=6|";
    EXPECT_EQ(told_of(two, {.body = two.size() + 1}), whole);
    EXPECT_EQ(told_of(two, {.body = two.size()}), whole);
    EXPECT_EQ(told_of(two + "\r\n3456", {.body = two.size() + 5}),
              "413 Content Too Large: multipart_limits::body");
    EXPECT_EQ(told_of(two, {.part = 6}), whole);
    EXPECT_EQ(told_of(two, {.part = 5}), whole);
    EXPECT_TRUE(
        told_of(two, {.part = 4}).ends_with("413 Content Too Large: multipart_limits::part"));
    EXPECT_EQ(told_of(two, {.files = 3}), whole);
    EXPECT_EQ(told_of(two, {.files = 2}), whole);
    EXPECT_TRUE(
        told_of(two, {.files = 1}).ends_with("413 Content Too Large: multipart_limits::files"));
    EXPECT_TRUE(
        told_of(two, {.format = {.parts = 1}}).ends_with("413 Content Too Large: too many parts"));
}

TEST(multipart_reader, has_defaults_that_hold) {
    const multipart_limits limits;
    EXPECT_EQ(limits.body, 4ull << 30);
    EXPECT_EQ(limits.part, 1ull << 30);
    const auto files = [](int n) {
        std::string all;
        for (int i = 0; i != n; ++i) all += file("x", "");
        return all + "--b--";
    };
    EXPECT_EQ(told_of(files(100)).find("413"), std::string::npos);
    EXPECT_EQ(told_of(files(101)), "413 Content Too Large: multipart_limits::files");
}

TEST(multipart_reader, refuses_an_announced_size_before_it_reads) {
    run_virtually([]() -> task<> {
        received_request req(form_data, std::string(101, 'x'));
        multipart_reader parts(*req.announced(), {.body = 100});
        const auto next = co_await as_result(parts.next());
        EXPECT_EQ(next.error().subject(), "multipart_limits::body");
        EXPECT_EQ(req.taken(), 0u);
    });
}

TEST(multipart_reader, limits_a_text_to_the_byte) {
    run_virtually([]() -> task<> {
        for (const std::size_t limit : {5u, 6u, 4u}) {
            received_request req(form_data, part("name=a", "12345") + "--b--", 3);
            multipart_reader parts(*req);
            auto* p = co_await parts.next();
            const auto text = co_await as_result(p->text(limit));
            EXPECT_EQ(text.has_value(), limit >= 5);
            EXPECT_TRUE(text || text.error() == code(http::status::content_too_large));
        }
    });
}

TEST(read_multipart, takes_all_parts_into_memory) {
    run_virtually([]() -> task<> {
        received_request req(form_data, part("name=a", "1") + file("x\\y", "data") + "--b--", 3);
        const http::multipart_form form = co_await http::read_multipart(*req);
        EXPECT_EQ(form.size(), 2u);
        EXPECT_EQ(form.get("a"), "1");
        EXPECT_EQ(form.get("b"), std::nullopt);
        EXPECT_EQ(form.find("f")->filename, "x\\y");
        EXPECT_EQ(form.find("f")->data, "data");
        EXPECT_EQ(form.find("a")->filename, std::nullopt);
    });
}

TEST(read_multipart, takes_a_mebibyte_a_part_and_eight_in_all) {
    run_virtually([]() -> task<> {
        for (const int more : {-1, 0, 1}) {
            const std::string data(static_cast<std::size_t>(1024 * 1024 + more), 'x');
            received_request one(form_data, part("name=a", data) + "--b--");
            EXPECT_EQ((co_await as_result(http::read_multipart(*one))).has_value(), more <= 0);
        }
        const std::string mebibyte(1024 * 1024, 'x');
        std::string all;
        for (int i = 0; i != 7; ++i) all += part("name=a", mebibyte);
        for (const int more : {-1, 0, 1}) {
            const std::size_t frame = part("name=a", "").size() + 5;
            const std::size_t left =
                8 * mebibyte.size() - all.size() - frame + static_cast<std::size_t>(more);
            received_request req(form_data, all + part("name=a", std::string(left, 'x')) + "--b--");
            EXPECT_EQ((co_await as_result(http::read_multipart(*req))).has_value(), more <= 0);
        }
    });
}
