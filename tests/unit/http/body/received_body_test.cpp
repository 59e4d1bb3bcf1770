// A body that was received: what its whole-body helper gives, and when it is no help any more.

#include "http/body/text_source.hpp"
#include "support/virtual_time.hpp"

#include <coracle/http/body.hpp>

#include <gtest/gtest.h>

#include <string>

namespace coracle::http {
namespace {

using testing::run_virtually;

class source final : public detail::text_source {
public:
    explicit source(std::string text) : text_source(std::move(text)) {}
};

TEST(received_body, gives_the_rest_as_text) {
    run_virtually([]() -> task<> {
        source from("boats");
        received_body b(&from);
        EXPECT_EQ(co_await b.text(), "boats");
    });
}

TEST(received_body, has_no_text_that_was_read_before) {
    run_virtually([]() -> task<> {
        source from("boats");
        received_body b(&from);
        EXPECT_EQ(co_await b.text(), "boats");
        EXPECT_TRUE((co_await b.read()).empty());
        auto again = b.text();
        const auto r = co_await as_result(again);
        EXPECT_FALSE(r);
        if (r) co_return;
        EXPECT_EQ(r.error(), std::errc::no_message_available);
        EXPECT_EQ(r.error().subject(), "it was read before");
    });
}

TEST(received_body, has_an_empty_text_however_often_where_it_has_no_content) {
    run_virtually([]() -> task<> {
        source from("");
        received_body b(&from);
        received_body none;
        for (int i = 0; i != 2; ++i) {
            EXPECT_EQ(co_await b.text(), "");
            EXPECT_EQ(co_await none.text(), "");
        }
    });
}

}  // namespace
}  // namespace coracle::http
