#include <coracle/mime/media_type.hpp>

#include <gtest/gtest.h>

using coracle::mime::media_type_of;
using coracle::mime::unknown_media_type;

TEST(media_type, is_found_by_the_extension) {
    EXPECT_EQ(media_type_of("a.3g2"), "video/3gpp2");       // first of the table
    EXPECT_EQ(media_type_of("a.zst"), "application/zstd");  // last of the table
    EXPECT_EQ(media_type_of("index.html"), "text/html; charset=utf-8");
    EXPECT_EQ(media_type_of("app.mjs"), "text/javascript; charset=utf-8");
    EXPECT_EQ(media_type_of("data.json"), "application/json");
    EXPECT_EQ(media_type_of("boat.avif"), "image/avif");
    EXPECT_EQ(media_type_of("site.webmanifest"), "application/manifest+json");
    EXPECT_EQ(media_type_of("font.woff2"), "font/woff2");
}

TEST(media_type, takes_no_notice_of_case) {
    EXPECT_EQ(media_type_of("PHOTO.JPG"), "image/jpeg");
    EXPECT_EQ(media_type_of("Page.HtMl"), "text/html; charset=utf-8");
}

TEST(media_type, looks_at_the_last_extension_of_the_last_segment) {
    EXPECT_EQ(media_type_of("archive.tar.gz"), "application/gzip");
    EXPECT_EQ(media_type_of("v1.html/README"), unknown_media_type);
    EXPECT_EQ(media_type_of("a/b.c/d.css"), "text/css; charset=utf-8");
}

TEST(media_type, of_an_unknown_or_missing_extension_is_octet_stream) {
    for (const char* name : {"", ".", "..", "a", "a.", ".html", "dir/.json", "a.nothing", "a.htmlx",
                             "a.ht", "a.webmanifestx", "a.h\xc3tml", "a.html "}) {
        EXPECT_EQ(media_type_of(name), unknown_media_type) << name;
    }
}
