#include "http/files/listing.hpp"

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::http::detail;

namespace {

constexpr auto a_file = file_kind::regular;
constexpr auto a_directory = file_kind::directory;

listing sample() {
    listing l;
    l.path = "/static/a b/";
    l.beneath = 4;
    l.limit = 10;
    l.entries.list = {{"b.txt", a_file, 1500, 971186136'000'000'000},
                      {"A.txt", a_file, 999, 971186137'000'000'000},
                      {"zoo", a_directory, 0, 971186138'000'000'000},
                      {"c.png", a_file, 1500, 0}};
    return l;
}

std::string order_of(listing_order order) {
    listing l = sample();
    sort_listing(l.entries, order);
    std::string names;
    for (const auto& e : l.entries.list) names += e.name + ' ';
    return names;
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

listing named(std::string name) {
    listing l;
    l.path = "/";
    l.entries.list = {{std::move(name), a_file, 1, 0}};
    return l;
}

}  // namespace

TEST(listing, sorts_directories_first_and_ties_by_name) {
    EXPECT_EQ(order_of({}), "zoo A.txt b.txt c.png ");
    EXPECT_EQ(order_of({listing_key::name, true}), "zoo c.png b.txt A.txt ");
    EXPECT_EQ(order_of({listing_key::size, false}), "zoo A.txt b.txt c.png ");
    EXPECT_EQ(order_of({listing_key::size, true}), "zoo b.txt c.png A.txt ");
    EXPECT_EQ(order_of({listing_key::time, false}), "zoo c.png b.txt A.txt ");
    EXPECT_EQ(order_of({listing_key::time, true}), "zoo A.txt b.txt c.png ");
}

TEST(listing, names_the_second_before_1970_that_a_file_was_modified_in) {
    listing l = named("a");
    l.entries.list.front().modified_ns = -1;
    EXPECT_TRUE(has(listing_json(l), "\"1969-12-31T23:59:59Z\""));
    EXPECT_TRUE(has(listing_page(l, {}), "1969-12-31 23:59"));
}

TEST(listing, takes_its_order_from_the_query) {
    const auto is = [](std::string_view query, listing_key by, bool descending) {
        const listing_order o = parse_listing_order(query);
        return o.by == by && o.descending == descending;
    };
    EXPECT_TRUE(is("", listing_key::name, false));
    EXPECT_TRUE(is("sort=size&order=desc", listing_key::size, true));
    EXPECT_TRUE(is("order=desc&x=y&sort=time", listing_key::time, true));
    EXPECT_TRUE(is("sort=%73ize&order=down&&", listing_key::name, false));
}

TEST(listing, shows_sizes_times_and_the_way_up) {
    const std::string page = listing_page(sample(), {});
    EXPECT_TRUE(has(page, "<title>/static/a b/</title>"));
    EXPECT_TRUE(has(page, ">1.5 KB</span>"));
    EXPECT_TRUE(has(page, "title=\"999 bytes\">999 B</span>"));
    EXPECT_TRUE(has(page, "<time datetime=\"2000-10-10T13:55:36Z\">2000-10-10 13:55</time>"));
    EXPECT_TRUE(has(page, "<a href=\"./zoo/\">"));
    EXPECT_TRUE(has(page, "1 directory, 3 files, 4.0 KB"));
    EXPECT_TRUE(has(page, "<a href=\"./../\"><bdi>/static/</bdi></a>"));
    EXPECT_TRUE(has(page, "<bdi>a b</bdi>"));
    EXPECT_TRUE(has(page, "href=\"?sort=name&amp;order=desc\""));
    EXPECT_TRUE(has(page, "href=\"?sort=size\""));
    EXPECT_FALSE(has(page, "<script"));
    EXPECT_FALSE(has(page, "http"));
}

TEST(listing, rounds_sizes_to_where_they_belong) {
    const auto shows = [](std::uint64_t size, std::string_view text) {
        listing l = named("x");
        l.entries.list[0].size = size;
        return has(listing_page(l, {}), ">" + std::string(text) + "</span>");
    };
    EXPECT_TRUE(shows(0, "0 B"));
    EXPECT_TRUE(shows(1000, "1.0 KB"));
    EXPECT_TRUE(shows(9949, "9.9 KB"));
    EXPECT_TRUE(shows(9950, "10 KB"));
    EXPECT_TRUE(shows(999'499, "999 KB"));
    EXPECT_TRUE(shows(999'500, "1.0 MB"));
    EXPECT_TRUE(shows(UINT64_MAX, "18 EB"));
}

TEST(listing, escapes_names_in_html_and_in_links) {
    const std::string page =
        listing_page(named("<img src=x onerror='a'>&\"\xff\x1b\xc2\x9b\n.txt"), {});
    EXPECT_FALSE(has(page, "<img"));
    EXPECT_TRUE(has(page, "&lt;img src=x onerror=&#39;a&#39;&gt;&amp;&quot;"));
    EXPECT_TRUE(has(page, "&quot;\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd.txt</bdi>"));
    EXPECT_TRUE(
        has(page, "href=\"./%3Cimg%20src%3Dx%20onerror%3D%27a%27%3E%26%22%FF%1B%C2%9B%0A.txt\""));
    // No name is taken for a scheme, a host or a query.
    EXPECT_TRUE(has(listing_page(named("javascript:alert(1)"), {}), "href=\"./javascript%3Aalert"));
    EXPECT_TRUE(has(listing_page(named("?a#b"), {}), "href=\"./%3Fa%23b\""));
    listing l = named("x");
    l.path = "/<b>/";
    l.beneath = 4;
    EXPECT_FALSE(has(listing_page(l, {}), "<b>"));
}

TEST(listing, says_when_it_is_not_whole_and_when_it_is_empty) {
    listing l = sample();
    EXPECT_FALSE(has(listing_page(l, {}), "There are more"));
    EXPECT_TRUE(has(listing_json(l), "\"truncated\":false"));
    l.entries.truncated = true;
    EXPECT_TRUE(has(listing_page(l, {}), "There are more: only 10 entries are shown."));
    EXPECT_TRUE(has(listing_json(l), "\"truncated\":true"));
    l.entries = {};
    EXPECT_TRUE(has(listing_page(l, {}), "Nothing is in here."));
    EXPECT_TRUE(has(listing_json(l), "\"entries\":[\n]}"));
}

TEST(listing, is_json_too) {
    EXPECT_EQ(listing_json(named("a\"\n\xff b")),
              "{\"path\":\"/\",\"truncated\":false,\"entries\":[\n"
              "{\"name\":\"a\\\"\\u000a\\ufffd b\",\"type\":\"file\",\"size\":1,"
              "\"modified\":\"1970-01-01T00:00:00Z\",\"href\":\"./a%22%0A%FF%20b\"}\n]}\n");
}
