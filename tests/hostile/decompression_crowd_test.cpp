// 300 small bodies at once that each ask for a large decoder, and stop before their end: the
// decoders of the loop hold what they may, the rest is refused, and others are served.

#include "support/allocation_count.hpp"
#include "support/blocking_peer.hpp"
#include "support/content.hpp"
#include "support/eventually.hpp"
#include "support/resident_memory.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/http/server.hpp>
#include <coracle/testing/local_server.hpp>

#include <brotli/encode.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing {
namespace {

constexpr std::size_t mebibyte = 1024 * 1024;
constexpr std::size_t crowd = 300;
constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: t\r\n\r\n";

/// 4 MiB in some 20 KB, with the largest window that is accepted.
std::string large_decoder() {
    const std::string noise = noise_of(20'000);
    std::string content;
    while (content.size() < 4 * mebibyte) content += noise;
    std::string out(BrotliEncoderMaxCompressedSize(content.size()), '\0');
    std::size_t size = out.size();
    EXPECT_TRUE(BrotliEncoderCompress(5, 20, BROTLI_MODE_GENERIC, content.size(),
                                      reinterpret_cast<const std::uint8_t*>(content.data()), &size,
                                      reinterpret_cast<std::uint8_t*>(out.data())));
    out.resize(size);
    return out;
}

std::string head_of(std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: t\r\nContent-Encoding: br\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n";
}

TEST(decompression_crowd, holds_what_the_decoders_of_a_loop_may_and_serves_others) {
    std::atomic<std::size_t> full = 0;  // bodies whose window is full
    const auto count = [&](http::request& req) -> task<http::response> {
        std::size_t n = 0;
        for (;;) {
            const std::string_view piece = co_await req.body().read();
            if (piece.empty()) co_return std::to_string(n) + " bytes\n";
            const bool was_full = n > 2 * mebibyte;
            n += piece.size();
            if (!was_full && n > 2 * mebibyte) ++full;
        }
    };
    const http::handler decompressing = http::decompress()(http::handler(count));
    const local_server server(decompressing);
    const std::string body = large_decoder();
    const std::string begin = head_of(body) + body.substr(0, body.size() - 10);
    const std::size_t before = resident_bytes();

    std::vector<blocking_peer> peers;
    for (std::size_t i = 0; i != crowd; ++i) {
        peers.emplace_back(server.port());
        ASSERT_TRUE(peers.back().send(begin));
    }
    const auto is_decided = [&] { return full + server.counters().decoders_refused == crowd; };
    EXPECT_TRUE(eventually(is_decided)) << full << " of " << crowd;
    const std::size_t accepted = full;
    EXPECT_GT(accepted, 10U);
    EXPECT_GT(server.counters().decoders_refused, 200U);
    if (counts_allocations()) {
        EXPECT_LT(resident_bytes(), before + 64 * mebibyte);
    }

    blocking_peer other(server.port());
    ASSERT_TRUE(other.send(get));
    EXPECT_TRUE(other.receive_until("0 bytes\n"));

    std::size_t good = 0;
    for (blocking_peer& p : peers) {
        static_cast<void>(p.send(body.substr(body.size() - 10)));
        good += p.receive_until(" bytes\n");
    }
    EXPECT_EQ(good, accepted);
    blocking_peer later(server.port());
    ASSERT_TRUE(later.send(head_of(body) + body));
    EXPECT_TRUE(later.receive_until(" bytes\n"));
}

}  // namespace
}  // namespace coracle::testing
