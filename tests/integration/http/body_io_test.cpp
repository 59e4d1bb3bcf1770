// Bodies as sources and sinks of `io`, over either version of HTTP.

#include "support/each_version.hpp"

#include <coracle/http/body_io.hpp>
#include <coracle/http/router.hpp>
#include <coracle/io/compress.hpp>
#include <coracle/io/copy.hpp>
#include <coracle/io/memory.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::testing {
namespace {

std::string numbers(std::size_t size) {
    std::string text;
    for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + (i % 9 == 0 ? '\n' : ' ');
    return text;
}

/// Gives pieces, and then fails.
class failing_source final : public io::source {
public:
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override {
        if (++reads_ == 3) co_return std::unexpected(error(std::errc::io_error, "the disk"));
        into[0] = 'x';
        co_return std::size_t{1};
    }

private:
    int reads_ = 0;
};

class bodies_as_streams : public each_version {
protected:
    http::client client_{options()};
};

TEST_P(bodies_as_streams, are_copied_from_the_request_to_the_response) {
    const local_server server([](http::request& req) {
        return http::stream([&req](http::body_writer& out) -> task<> {
            http::body_input from(req.body());
            http::body_output to(out);
            co_await io::copy(from, to);
        });
    });
    // No more than a window of HTTP/2: a call reads the response once its body is sent.
    const std::string text = numbers(50'000);
    const auto r = client_.post(server.url()).body(std::string(text)).wait();
    EXPECT_EQ(r.body, text);
}

TEST_P(bodies_as_streams, are_read_line_by_line_and_compressed_as_they_are_written) {
    const local_server server([](http::request& req) {
        auto r = http::stream([&req](http::body_writer& out) -> task<> {
            http::body_input from(req.body());
            io::reader lines(from);
            http::body_output to(out);
            io::compressing_sink packed(to, coding::content_coding::gzip);
            while (const auto line = co_await lines.read_line()) {
                std::string text = std::string(*line) + ";";
                slice piece{std::string_view(text)};
                const auto written = co_await packed.write({&piece, 1});
                if (!written) throw_exception(written.error());
            }
            const auto ended = co_await packed.finish();
            if (!ended) throw_exception(ended.error());
        });
        r.set("Content-Encoding", "gzip");
        return r;
    });
    const std::string text = numbers(100'000);
    std::string expected = text;
    for (char& c : expected) c = c == '\n' ? ';' : c;
    if (!expected.ends_with(';')) expected += ';';
    EXPECT_EQ(client_.post(server.url()).body(std::string(text)).wait().body, expected);
}

TEST_P(bodies_as_streams, of_responses_are_read_in_small_steps) {
    const std::string text = numbers(200'000);
    const local_server server([&text](http::request& req) {
        if (req.path() == "/none") return http::response(http::status::no_content);
        return http::response(text);
    });
    block_on([&]() -> task<> {
        http::client client(options());
        http::response r = co_await client.get(server.url());
        http::body_input from(r);
        std::string all;
        char block[999];
        for (;;) {
            const auto n = co_await from.read_some(block);
            EXPECT_TRUE(n);
            if (!n || *n == 0) break;
            all.append(block, *n);
        }
        EXPECT_EQ(all, text);
        const auto again = co_await from.read_some(block);
        EXPECT_EQ(again.value(), 0U) << "the end stays";
        http::response none = co_await client.get(server.url("/none"));
        http::body_input nothing(none);
        EXPECT_EQ((co_await nothing.read_some(block)).value(), 0U);
        http::response made("not received");
        http::body_input unreceived(made);
        EXPECT_EQ((co_await unreceived.read_some(block)).value(), 0U);
    });
}

TEST_P(bodies_as_streams, are_sent_from_sources) {
    const local_server server([](http::request& req) -> task<http::response> {
        const auto announced = req.body().length();
        const std::string text = co_await req.body().text();
        co_return http::response((announced ? std::to_string(*announced) : "?") + ":" + text);
    });
    const auto source = [] { return std::make_unique<io::memory_source>("some text"); };
    EXPECT_EQ(client_.post(server.url()).body(http::body_from(source())).wait().body,
              "?:some text");
    EXPECT_EQ(client_.post(server.url()).body(http::body_from(source(), 9)).wait().body,
              "9:some text");
    EXPECT_EQ(client_.post(server.url()).body(http::body_from(source(), 4)).wait().body, "4:some");
    EXPECT_THROW(client_.post(server.url()).body(http::body_from(source(), 10)).wait(), exception);
    try {
        client_.post(server.url()).body(http::body_from(std::make_unique<failing_source>())).wait();
        ADD_FAILURE() << "the source failed";
    } catch (const exception& e) {
        EXPECT_EQ(e.error(), std::errc::io_error);
    }
}

INSTANTIATE_TEST_SUITE_P(over, bodies_as_streams, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
