#include "http/coding/accept_encoding.hpp"

#include "http/coding/compressible.hpp"

#include <coracle/http/fields.hpp>

#include <gtest/gtest.h>

using namespace coracle::http;
using coracle::http::detail::is_compressible;
using coracle::http::detail::matches_media_type;
using coracle::http::detail::negotiate_coding;

namespace {

constexpr content_coding offered[] = {content_coding::zstd, content_coding::brotli,
                                      content_coding::gzip};

std::string_view chosen(std::string_view accept_encoding) {
    fields all;
    all.add("Accept-Encoding", accept_encoding);
    return to_string(negotiate_coding(all, offered));
}

}  // namespace

TEST(accept_encoding, chooses_what_the_server_likes_best_among_equals) {
    EXPECT_EQ(chosen("gzip, deflate, br, zstd"), "zstd");
    EXPECT_EQ(chosen("gzip, deflate, br"), "br");
    EXPECT_EQ(chosen("gzip, deflate"), "gzip");
    EXPECT_EQ(chosen("GZIP"), "gzip");
    EXPECT_EQ(chosen("x-gzip"), "gzip");
    EXPECT_EQ(chosen("gzip;q=0.5,br;q=0.5"), "br");
}

TEST(accept_encoding, follows_the_weights) {
    EXPECT_EQ(chosen("gzip;q=1.0, br;q=0.9, zstd;q=0.899"), "gzip");
    EXPECT_EQ(chosen("gzip ; q=0.2 , br ; Q=0.201"), "br");
    EXPECT_EQ(chosen("zstd;q=0, gzip"), "gzip");
    EXPECT_EQ(chosen("zstd;q=0.000, br;q=0.001"), "br");
    EXPECT_EQ(chosen("gzip;q=0"), "identity");
}

TEST(accept_encoding, may_name_any_coding) {
    EXPECT_EQ(chosen("*"), "zstd");
    EXPECT_EQ(chosen("zstd;q=0, *;q=0.5"), "br");
    EXPECT_EQ(chosen("gzip, *;q=0"), "gzip");
    EXPECT_EQ(chosen("*;q=0"), "identity");
    EXPECT_EQ(chosen("gzip;q=0.5, *;q=0.1"), "gzip");
}

TEST(accept_encoding, may_like_identity_better) {
    EXPECT_EQ(chosen("identity"), "identity");
    EXPECT_EQ(chosen("identity, gzip;q=0.5"), "identity");
    EXPECT_EQ(chosen("identity;q=0.5, gzip;q=0.5"), "gzip");
    EXPECT_EQ(chosen("identity;q=0, gzip;q=0.1"), "gzip");
    EXPECT_EQ(chosen("identity;q=0, compress"), "identity");
    EXPECT_EQ(chosen("identity;q=0, *;q=0"), "identity");
}

TEST(accept_encoding, that_is_missing_or_empty_asks_for_nothing) {
    EXPECT_EQ(negotiate_coding(fields(), offered), content_coding::identity);
    EXPECT_EQ(chosen(""), "identity");
    EXPECT_EQ(chosen(", ,"), "identity");
    EXPECT_EQ(chosen("compress, exi"), "identity");
}

TEST(accept_encoding, has_members_that_are_malformed_ignored) {
    for (const char* bad :
         {"br;q=2", "br;q=1.001", "br;q=-1", "br;q=0.1234", "br;q=.5", "br;q=", "br;q=a", "br;x=1",
          "br;q=0.5;x", "br q=1", "br;;q=1", "br;q =1", "br;q=1e0", "br;"}) {
        EXPECT_EQ(chosen(std::string(bad) + ", gzip;q=0.1"), "gzip") << bad;
    }
}

TEST(accept_encoding, may_come_in_several_lines) {
    fields all;
    all.add("Accept-Encoding", "gzip;q=0.5");
    all.add("Accept-Encoding", "br");
    EXPECT_EQ(negotiate_coding(all, offered), content_coding::brotli);
    EXPECT_EQ(negotiate_coding(all, {}), content_coding::identity);
}

TEST(compressible, is_what_becomes_smaller) {
    for (const char* type :
         {"text/plain", "text/html; charset=utf-8", "TEXT/CSS", "text/event-stream",
          "application/json", "application/json;charset=utf-8", "application/problem+json",
          "application/atom+xml", "image/svg+xml", "application/wasm", "font/ttf",
          "application/javascript ; x=y"}) {
        EXPECT_TRUE(is_compressible(type)) << type;
    }
    for (const char* type :
         {"", "image/png", "image/jpeg", "video/mp4", "font/woff2", "text",
          "application/octet-stream", "application/zip", "application/pdf", "application/gzip",
          "multipart/byteranges; boundary=x", "textx/plain", "application/jsonx", "xml"}) {
        EXPECT_FALSE(is_compressible(type)) << type;
    }
}

TEST(a_media_type, matches_its_patterns) {
    EXPECT_TRUE(matches_media_type("application/pdf", "application/pdf"));
    EXPECT_TRUE(matches_media_type("application/pdf; v=1", "application/*"));
    EXPECT_FALSE(matches_media_type("application/pdf", "application/p"));
    EXPECT_FALSE(matches_media_type("application/pdf", "app/*"));
}
