#include "http/exchange/replace_response.hpp"

#include <gtest/gtest.h>

using namespace coracle::http;

TEST(replace_response, keeps_what_middleware_has_added_and_nothing_of_the_response) {
    response of = html("a body");
    of.set("X-Request-Id", "7").set("Strict-Transport-Security", "max-age=1");
    of.set("Content-Security-Policy", "default-src 'self'").set("Set-Cookie", "a=b");
    of.fields().add("Set-Cookie", "c=d");
    for (const char* name : {"Content-Type", "Content-Encoding", "ETag", "Last-Modified", "Expires",
                             "Cache-Control", "Accept-Ranges", "Trailer", "Upgrade",
                             "Sec-WebSocket-Accept", "sec-websocket-protocol"}) {
        of.set(name, "\"old\"");
    }
    response by(status::upgrade_required, "newer\n");
    by.set("Upgrade", "websocket").set("Strict-Transport-Security", "max-age=2");
    detail::replace_response(of, std::move(by));
    EXPECT_EQ(of.status(), status::upgrade_required);
    EXPECT_EQ(of.body().bytes(), "newer\n");
    std::string all;
    for (const field& f : of.fields()) all.append(f.name).append("=").append(f.value).append(";");
    EXPECT_EQ(all,
              "Upgrade=websocket;Strict-Transport-Security=max-age=2;X-Request-Id=7;"
              "Content-Security-Policy=default-src 'self';Set-Cookie=a=b;Set-Cookie=c=d;");
}
