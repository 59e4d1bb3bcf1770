// Encoded request bodies through a server in a simulation.

#include "support/codings.hpp"
#include "support/content.hpp"
#include "support/simulated_response.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/compress.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <atomic>

using namespace coracle;
using namespace coracle::testing;
using http::content_coding;

namespace {

/// Responds with the number of bytes and what the fields say.
task<http::response> count(http::request& req) {
    std::size_t n = 0;
    for (;;) {
        const std::string_view piece = co_await req.body().read();
        if (piece.empty()) break;
        n += piece.size();
    }
    co_return http::response(std::to_string(n));
}

task<http::response> echo(http::request& req) {
    std::string text = co_await req.body().text();
    co_return http::response(std::move(text));
}

template <class F>
http::handler decompressing(F f, http::decompress_options options = {}) {
    return http::decompress(std::move(options))(http::handler(std::move(f)));
}

simulated_response post(const http::handler& h, std::string_view body, std::string_view coding) {
    return response_of(h, post_of(body, "Content-Encoding: " + std::string(coding) + "\r\n"));
}

constexpr content_coding codings[] = {content_coding::gzip, content_coding::deflate,
                                      content_coding::brotli, content_coding::zstd};

}  // namespace

TEST(decompression, gives_the_handler_what_was_encoded) {
    for (const content_coding coding : codings) {
        const auto a =
            post(decompressing(&echo), encoded(coding, text_of(100'000)), to_string(coding));
        EXPECT_EQ(a.status(), 200);
        EXPECT_TRUE(a.body == text_of(100'000));
    }
}

TEST(decompression, leaves_other_requests_alone) {
    EXPECT_EQ(response_of(decompressing(&echo), post_of("hello")).body, "hello");
    EXPECT_EQ(post(decompressing(&echo), "hello", "identity").body, "hello");
    EXPECT_EQ(post(decompressing(&echo), "", "gzip").body, "");
    EXPECT_EQ(post(decompressing(&echo), "", "gzip").status(), 200);
}

TEST(decompression, of_a_chunked_body_keeps_its_trailers) {
    const auto with_trailers = [](http::request& req) -> task<http::response> {
        std::string text = co_await req.body().text();
        text += req.trailers().get("X-Sum");
        text += req.header("Content-Encoding");
        for (const char* name : {"Content-Digest", "Repr-Digest", "Digest"}) {
            text += req.header(name);
        }
        co_return http::response(std::move(text));
    };
    const std::string body = encoded(content_coding::gzip, "hello");
    char size[8];
    std::snprintf(size, sizeof size, "%zx", body.size());
    const auto a = response_of(decompressing(with_trailers),
                               "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                               "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n"
                               "Content-Digest: sha-256=:x:\r\nRepr-Digest: sha-256=:x:\r\n"
                               "Digest: sha-256=x\r\n\r\n" +
                                   std::string(size) + "\r\n" + body + "\r\n0\r\nX-Sum: 5\r\n\r\n");
    EXPECT_EQ(a.body, "hello5");
}

TEST(decompression, of_no_bytes_gives_none) {
    for (const content_coding coding : codings) {
        const auto a = response_of(decompressing(&echo),
                                   "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                   "Transfer-Encoding: chunked\r\nContent-Encoding: " +
                                       std::string(to_string(coding)) + "\r\n\r\n0\r\n\r\n");
        EXPECT_EQ(a.status(), 200) << to_string(coding);
        EXPECT_EQ(a.body, "");
    }
}

TEST(decompression, takes_as_many_codings_as_its_limit) {
    const std::string once = encoded(content_coding::gzip, text_of(5000));
    const std::string twice = encoded(content_coding::brotli, once);
    const std::string thrice = encoded(content_coding::zstd, twice);
    EXPECT_EQ(post(decompressing(&echo), once, "gzip").body, text_of(5000));
    EXPECT_EQ(post(decompressing(&echo), twice, "gzip, br").body, text_of(5000));
    EXPECT_EQ(post(decompressing(&echo), twice, "gzip,identity,br").body, text_of(5000));
    const auto a = post(decompressing(&echo), thrice, "gzip, br, zstd");
    EXPECT_EQ(a.status(), 415);
    EXPECT_EQ(a.header("Accept-Encoding"), "zstd, br, gzip, deflate");
    http::decompress_options more;
    more.limits.codings = 3;
    EXPECT_EQ(post(decompressing(&echo, more), thrice, "gzip, br, zstd").body, text_of(5000));
}

TEST(decompression, refuses_what_needs_too_large_a_window) {
    http::decompress_options options;
    options.limits.ratio = 0;
    options.window = 64 * 1024;
    const std::string body = encoded(content_coding::zstd, text_of(1'000'000));
    EXPECT_EQ(post(decompressing(&count, options), body, "zstd").status(), 413);
    options.window = 1024 * 1024;
    EXPECT_EQ(post(decompressing(&count, options), body, "zstd").body, "1000000");
}

TEST(decompression, is_refused_where_decoders_hold_too_much) {
    for (const content_coding coding : codings) {
        http::decompress_options options;
        options.memory = 4096;
        const std::string body = encoded(coding, text_of(100'000));
        EXPECT_EQ(post(decompressing(&count, options), body, to_string(coding)).status(), 503);
        options.memory = 8 * 1024 * 1024;
        EXPECT_EQ(post(decompressing(&count, options), body, to_string(coding)).body, "100000");
    }
}

// Where memory is handed out again at once, all of them are at one address.
TEST(decompression, takes_no_budget_over_from_options_that_were_at_its_address) {
    std::atomic<std::size_t> memory = 0;
    const local_server server([&memory](http::request& req) -> task<http::response> {
        http::decompress_options options;
        options.memory = memory;
        const http::handler fresh = http::decompress(options)(&count);
        auto counting = fresh(req);
        co_return co_await std::move(counting);
    });
    http::client client;
    const std::string body = encoded(content_coding::gzip, text_of(100'000));
    for (const std::size_t bytes : {4096U, 8'388'608U, 4096U, 8'388'608U}) {
        memory = bytes;
        const auto r =
            client.post(server.url()).body(body).header("Content-Encoding", "gzip").wait();
        EXPECT_EQ(to_code(r.status), bytes == 4096 ? 503 : 200);
    }
}

TEST(decompression, of_an_unknown_coding_is_refused_with_what_is_known) {
    http::decompress_options options;
    options.codings = {content_coding::gzip};
    for (const char* coding : {"compress", "br", "gzip, br", "aws-chunked", ";"}) {
        const auto a = post(decompressing(&echo, options), "hello", coding);
        EXPECT_EQ(a.status(), 415) << coding;
        EXPECT_EQ(a.header("Accept-Encoding"), "gzip");
    }
}

TEST(decompression, keeps_to_the_size_that_it_may_have) {
    const auto within = [](std::uint64_t limit) {
        http::decompress_options options;
        options.limits.decoded = limit;
        return post(decompressing(&count, options), encoded(content_coding::gzip, text_of(100'000)),
                    "gzip");
    };
    EXPECT_EQ(within(100'001).body, "100000");
    EXPECT_EQ(within(100'000).body, "100000");
    const auto a = within(99'999);
    EXPECT_EQ(a.status(), 413);
    EXPECT_EQ(a.header("Connection"), "close");
    EXPECT_EQ(a.counters.decoded_too_large, 1U);
    EXPECT_EQ(within(100'000).counters.decoded_too_large, 0U);
}

TEST(decompression, has_a_limit_of_64_MiB_by_default) {
    http::decompress_options options;
    EXPECT_EQ(options.limits.decoded, 64U * 1024 * 1024);
    options.limits.ratio = UINT32_MAX;
    const auto zeros = [&](std::size_t size) {
        return post(decompressing(&count, options),
                    encoded(content_coding::zstd, std::string(size, '\0')), "zstd");
    };
    EXPECT_EQ(zeros(64 * 1024 * 1024).body, "67108864");
    EXPECT_EQ(zeros(64 * 1024 * 1024 + 1).status(), 413);
}

TEST(decompression, refuses_what_is_compressed_too_far) {
    const auto zeros = [](std::size_t size, content_coding coding) {
        return post(decompressing(&count), encoded(coding, std::string(size, '\0')),
                    to_string(coding));
    };
    for (const content_coding coding : {content_coding::zstd, content_coding::brotli}) {
        EXPECT_EQ(zeros(1024 * 1024, coding).body, "1048576");
        const auto a = zeros(10 * 1024 * 1024, coding);
        EXPECT_EQ(a.status(), 413);
        EXPECT_EQ(a.counters.decoded_ratio, 1U);
    }
}

TEST(decompression, of_what_is_corrupt_is_a_bad_request) {
    for (const content_coding coding : codings) {
        const std::string good = encoded(coding, text_of(5000));
        for (const std::string& bad :
             {good.substr(0, good.size() - 1), good + "x", std::string(100, '\xff')}) {
            const auto a = post(decompressing(&echo), bad, to_string(coding));
            EXPECT_EQ(a.status(), 400);
            EXPECT_EQ(a.header("Connection"), "close");
            EXPECT_EQ(a.counters.undecodable, 1U);
            EXPECT_EQ(a.counters.handler_errors, 0U);
        }
    }
}

TEST(decompression, lasts_as_long_as_a_stream_that_reads_the_body) {
    const auto mirror = [](http::request& req) {
        return http::stream([&req](http::body_writer& out) -> task<> {
            for (;;) {
                const std::string_view piece = co_await req.body().read();
                if (piece.empty()) break;
                co_await out.write(piece);
            }
        });
    };
    const auto mirror_later = [mirror](http::request& req) -> task<http::response> {
        co_return mirror(req);
    };
    const std::string body = encoded(content_coding::gzip, text_of(100'000));
    EXPECT_TRUE(post(decompressing(mirror), body, "gzip").body == text_of(100'000));
    EXPECT_TRUE(post(decompressing(mirror_later), body, "gzip").body == text_of(100'000));
}

TEST(decompression, that_nobody_reads_does_no_harm) {
    const auto ignore = [](http::request&) { return http::response("ignored"); };
    const auto throws = [](http::request&) -> http::response { throw std::runtime_error("now"); };
    const std::string body = encoded(content_coding::gzip, text_of(100'000));
    EXPECT_EQ(post(decompressing(ignore), body, "gzip").body, "ignored");
    EXPECT_EQ(post(decompressing(throws), body, "gzip").status(), 500);
}

TEST(decompression, under_the_limit_of_text_is_told_by_that) {
    const std::string body = encoded(content_coding::gzip, text_of(2'000'000));
    EXPECT_EQ(post(decompressing(&echo), body, "gzip").status(), 413);
}
