// The responses and counters of a server when memory is short, or kept for others.

#include "support/blocking_peer.hpp"
#include "support/codings.hpp"
#include "support/content.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <new>
#include <string>

namespace coracle::testing {
namespace {

using coding::content_coding;

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";

TEST(out_of_memory, of_a_handler_is_a_503_and_counted) {
    int calls = 0;
    const auto fails_once = [&calls](http::request&) -> task<http::response> {
        if (++calls == 1) throw std::bad_alloc();
        co_return "better\n";
    };
    const local_server server(http::handler{fails_once});
    blocking_peer peer(server.port());
    ASSERT_TRUE(peer.send(get));
    EXPECT_TRUE(peer.receive_until("503 Service Unavailable\n"));
    EXPECT_EQ(server.counters().out_of_memory, 1U);
    ASSERT_TRUE(peer.send(get));
    EXPECT_TRUE(peer.receive_until("better\n"));
    EXPECT_EQ(server.counters().out_of_memory, 1U);
}

std::string post_of(std::string_view coding, std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: t\r\nContent-Encoding: " + std::string(coding) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

http::handler counting(http::decompress_options options) {
    const auto count = [](http::request& req) -> task<http::response> {
        const std::string text = co_await req.body().text();
        co_return std::to_string(text.size()) + " bytes\n";
    };
    return http::decompress(std::move(options))(http::handler{count});
}

TEST(out_of_memory, of_the_decoders_of_a_loop_is_a_503_and_counted) {
    http::decompress_options options;
    options.memory = 4096;
    const local_server server(counting(options));
    blocking_peer peer(server.port());
    ASSERT_TRUE(peer.send(post_of("gzip", encoded(content_coding::gzip, text_of(5000)))));
    EXPECT_TRUE(peer.receive_until("503 Service Unavailable\n"));
    EXPECT_EQ(server.counters().decoders_refused, 1U);
}

TEST(out_of_memory, of_a_decoder_whose_window_is_too_large_is_a_413_and_counted) {
    http::decompress_options options;
    options.window = 64 * 1024;
    const local_server server(counting(options));
    blocking_peer peer(server.port());
    ASSERT_TRUE(peer.send(post_of("zstd", encoded(content_coding::zstd, noise_of(500'000)))));
    EXPECT_TRUE(peer.receive_until("413 Content Too Large\n"));
    EXPECT_EQ(server.counters().decoded_window, 1U);
}

}  // namespace
}  // namespace coracle::testing
