#include <coracle/http/response.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;

TEST(response, takes_a_text_of_any_size_as_it_is) {
    http::response r;
    for (std::size_t size = 0; size != 200; ++size) {
        const std::string text(size, 'x');
        r.set_text(text);
        EXPECT_EQ(r.body().bytes(), text);
        r.clear();
        EXPECT_TRUE(r.body().bytes().empty());
    }
}

TEST(response, html_copies_views_and_literals) {
    std::string text = "<p>Ahoy</p>";
    const http::response of_view = http::html(std::string_view(text).substr(3, 4));
    text.assign(text.size(), 'x');
    EXPECT_EQ(of_view.body().bytes(), "Ahoy");
    EXPECT_EQ(http::html("<p>").body().bytes(), "<p>");
    EXPECT_EQ(http::html("<b>").default_type(), http::html(std::string("<b>")).default_type());
}

TEST(response, takes_an_empty_text) {
    http::response r;
    r.set_text({});
    EXPECT_TRUE(r.body().bytes().empty());
    EXPECT_EQ(r.body().size(), 0u);
}
