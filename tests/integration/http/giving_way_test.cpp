// Handlers whose body has come already let other tasks run while they read it.

#include "support/codings.hpp"
#include "support/content.hpp"
#include "support/simulated_response.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

using namespace coracle;
using namespace coracle::testing;
using http::content_coding;

namespace {

/// Counts turns of the loop until it is told to stop.
class turn_counter {
public:
    turn_counter() {
        spawn([at = turns_]() -> task<> {
            for (; *at >= 0; ++*at) co_await yield();
        });
    }
    int stop() { return std::exchange(*turns_, -1'000'000'000); }

private:
    std::shared_ptr<int> turns_ = std::make_shared<int>(0);
};

/// The pieces and bytes of a body, and the turns of the loop while they were read.
struct reading {
    int pieces = 0;
    std::size_t bytes = 0;
    int turns = 0;
};

auto counting(reading& to) {
    return [&to](http::request& req) -> task<http::response> {
        to = {};
        turn_counter turns;
        for (;;) {
            const std::string_view piece = co_await req.body().read();
            if (piece.empty()) break;
            ++to.pieces;
            to.bytes += piece.size();
        }
        to.turns = turns.stop();
        co_return http::response("read");
    };
}

}  // namespace

TEST(giving_way, happens_between_pieces_of_one_block) {
    constexpr int n = 10'000;
    std::string chunks;
    for (int i = 0; i != n; ++i) chunks += "1\r\nx\r\n";
    reading r;
    const auto a = response_over_http_1(counting(r),
                                        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                        "Transfer-Encoding: chunked\r\n\r\n" +
                                            chunks + "0\r\n\r\n");
    EXPECT_EQ(a.body, "read");
    EXPECT_EQ(r.pieces, n);
    // Each receive brings some in the midst of a share.
    EXPECT_GE(r.turns, n / 80);
}

TEST(giving_way, happens_while_a_body_is_decoded) {
    // Small when it is encoded, so that all of it has come at once.
    std::string text;
    for (int i = 0; i != 150; ++i) text += noise_of(20'000);
    http::decompress_options options;
    options.limits.ratio = 0;
    for (const auto coding : {content_coding::gzip, content_coding::deflate, content_coding::brotli,
                              content_coding::zstd}) {
        const std::string body = encoded(coding, text);
        EXPECT_LT(body.size(), text.size() / 20);
        reading r;
        const auto a = response_of(
            http::decompress(options)(http::handler(counting(r))),
            post_of(body, "Content-Encoding: " + std::string(to_string(coding)) + "\r\n"));
        EXPECT_EQ(a.body, "read");
        EXPECT_EQ(r.bytes, text.size());
        EXPECT_GE(r.turns, 3'000'000 / (32 * 1024)) << to_string(coding);
    }
}
