#include "support/http_peer.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/peer.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace coracle::testing {
namespace {

/// The whole response to a GET of "http://127.0.0.1:PORT/...".
std::string get(const std::string& url) {
    const std::size_t host = url.find("//") + 2;
    const std::size_t path = url.find('/', host);
    return block_on([&]() -> task<std::string> {
        const auto to = net::address::parse(url.substr(host, path - host)).value();
        peer c = co_await connect_peer(to);
        co_await c.send("GET " + url.substr(path) +
                        " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
        std::string all = co_await c.read_to_end();
        co_return all;
    });
}

TEST(http_peer, serves_while_it_lives) {
    const auto nginx = http_peer::start("nginx");
    if (nginx == nullptr) GTEST_SKIP() << "nginx is not installed";
    EXPECT_TRUE(get(nginx->url("hello")).ends_with("\r\n\r\nHello, World!"));
    EXPECT_TRUE(get(nginx->url("redirect_308")).starts_with("HTTP/1.1 308 "));
    EXPECT_TRUE(get(nginx->at("/nowhere")).starts_with("HTTP/1.1 404 "));
    EXPECT_FALSE(nginx->has("digest"));
    EXPECT_THROW(nginx->url("digest"), std::out_of_range);
    EXPECT_THROW(nginx->tell("nonsense"), std::runtime_error);
}

TEST(http_peer, says_that_there_is_none_of_that_name) {
    EXPECT_THROW(http_peer::start("nonesuch"), std::runtime_error);
}

}  // namespace
}  // namespace coracle::testing
