// io::copy between descriptors of the kernel, on each backend: the bytes go by splice(2) once 64
// KiB have gone, and nobody can tell it from what a block would have done.

#include "support/backends.hpp"
#include "support/content.hpp"
#include "support/failing_calls.hpp"

#include <coracle/io/copy.hpp>
#include <coracle/io/kernel_pipe.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/when_any.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

const std::string& block_of_noise() {
    // A length that no block, page or pipe divides.
    static const std::string noise = noise_of(1'000'003);
    return noise;
}

/// Sends `size` bytes: the noise again and again.
task<> feed(net::byte_stream& to, std::size_t size) {
    const std::string_view noise = block_of_noise();
    while (size != 0) {
        const std::string_view piece = noise.substr(0, size);
        co_await to.send(piece);
        size -= piece.size();
    }
    to.shutdown_output();
}

/// How many of the bytes that come, until the end or `most`, are those that `feed` sends from its
/// byte `at` on, one behind the other.
task<std::size_t> count_right(net::byte_stream& from, std::size_t at = 0,
                              std::size_t most = SIZE_MAX) {
    const std::string_view noise = block_of_noise();
    std::size_t right = 0;
    while (right < most) {
        auto got = co_await as_result(from.receive(64 * 1024));
        if (!got) break;
        std::string_view bytes = got->view();
        while (!bytes.empty()) {
            const std::string_view expected =
                noise.substr((at + right) % noise.size(), bytes.size());
            if (!bytes.starts_with(expected)) co_return right;
            right += expected.size();
            bytes.remove_prefix(expected.size());
        }
    }
    co_return right;
}

task<std::uint64_t> copy_all(net::byte_stream& from, net::byte_stream& to,
                             io::copy_options options = {}) {
    io::stream_source source(from);
    io::stream_sink sink(to);
    const std::uint64_t copied = co_await io::copy(source, sink, options);
    to.shutdown_output();
    co_return copied;
}

/// Feeds one end, copies in the middle, and checks what comes out at the other.
task<> pass_through(net::byte_stream& in, net::byte_stream& from, net::byte_stream& to,
                    net::byte_stream& out, std::size_t size) {
    auto feeding = feed(in, size);
    auto copying = copy_all(from, to);
    auto counting = count_right(out);
    auto [fed, copied, right] =
        co_await when_all(std::move(feeding), std::move(copying), std::move(counting));
    EXPECT_EQ(copied, size);
    EXPECT_EQ(right, size);
}

io::kernel_pipe new_pipe() {
    auto pipe = io::make_pipe();
    if (!pipe) throw exception(pipe.error());
    return *std::move(pipe);
}

class a_spliced_copy : public ::testing::TestWithParam<backend_case> {
protected:
    void run(task<> (*body)()) { on_.run(body); }

private:
    loop_on on_{GetParam()};
};

}  // namespace

TEST_P(a_spliced_copy, of_100_megabytes_from_socket_to_socket_is_equal) {
    run([]() -> task<> {
        auto in = co_await connected();
        auto out = co_await connected();
        co_await pass_through(*in.client, *in.server, *out.client, *out.server, 100'000'000);
    });
}

TEST_P(a_spliced_copy, goes_from_socket_to_pipe_to_pipe_to_socket) {
    run([]() -> task<> {
        constexpr std::size_t size = 5'000'000;
        auto in = co_await connected();
        auto out = co_await connected();
        auto pipe = new_pipe();
        auto another = new_pipe();
        auto first = copy_all(*in.server, *pipe.writer);
        auto second = copy_all(*pipe.reader, *another.writer);
        auto rest = pass_through(*in.client, *another.reader, *out.client, *out.server, size);
        auto [a, b, c] = co_await when_all(std::move(first), std::move(second), std::move(rest));
        EXPECT_EQ(a, size);
        EXPECT_EQ(b, size);
    });
}

TEST_P(a_spliced_copy, leaves_the_other_direction_open_and_stops_at_its_limit) {
    run([]() -> task<> {
        auto in = co_await connected();
        auto out = co_await connected();
        constexpr std::size_t size = 1'000'000;
        auto feeding = feed(*in.client, size);
        auto copying = copy_all(*in.server, *out.client, {.limit = 300'001});
        auto counting = count_right(*out.server);
        auto rest = [&]() -> task<> {
            auto [copied, right] = co_await when_all(std::move(copying), std::move(counting));
            EXPECT_EQ(copied, 300'001U);
            EXPECT_EQ(right, 300'001U);
            EXPECT_EQ(co_await count_right(*in.server, 300'001), size - 300'001);
        };
        auto resting = rest();
        co_await when_all(std::move(feeding), std::move(resting));
        co_await out.server->send("back");
        EXPECT_EQ(co_await read_exactly(*out.client, 4), "back");
        co_await in.server->send("back");
        EXPECT_EQ(co_await read_exactly(*in.client, 4), "back");
    });
}

TEST_P(a_spliced_copy, begins_with_what_was_received_before) {
    run([]() -> task<> {
        constexpr std::size_t size = 3'000'000;
        auto in = co_await connected();
        auto out = co_await connected();
        auto feeding = feed(*in.client, size);
        auto reading = [&]() -> task<> {
            // io_uring goes on receiving into blocks of its own behind this.
            const buffer first = co_await in.server->receive();
            EXPECT_TRUE(block_of_noise().starts_with(first.view()));
            for (int i = 0; i != 3; ++i) co_await yield();
            auto copying = copy_all(*in.server, *out.client, {.block = 16 * 1024});
            auto counting = count_right(*out.server, first.size());
            auto [copied, right] = co_await when_all(std::move(copying), std::move(counting));
            EXPECT_EQ(copied, size - first.size());
            EXPECT_EQ(right, size - first.size());
        };
        auto read = reading();
        co_await when_all(std::move(feeding), std::move(read));
    });
}

TEST_P(a_spliced_copy, that_is_cancelled_while_nothing_comes_loses_nothing) {
    run([]() -> task<> {
        constexpr std::size_t size = 1'000'000;
        auto in = co_await connected();
        auto out = co_await connected();
        io::stream_source source(*in.server);
        io::stream_sink sink(*out.client);
        for (int round = 0; round != 3; ++round) {
            event delivered;
            auto feeding = [&]() -> task<> {
                const std::string_view noise(block_of_noise());
                co_await in.client->send(noise.substr(0, size));
                EXPECT_EQ(co_await count_right(*out.server, 0, size), size);
                delivered.set();
                co_await forever();
            };
            auto copying = [&]() -> task<> { co_await io::copy(source, sink); };
            auto ended = [&]() -> task<> { co_await delivered.wait(); };
            auto a = feeding();
            auto b = copying();
            auto c = ended();
            co_await when_any(std::move(a), std::move(b), std::move(c));
            co_await in.client->send("for another");
            EXPECT_EQ(co_await read_exactly(*in.server, 11), "for another");
        }
    });
}

TEST_P(a_spliced_copy, that_is_cancelled_while_its_reader_is_slow_loses_one_block_at_most) {
    run([]() -> task<> {
        constexpr std::size_t size = 40'000'000;
        constexpr std::size_t block = 64 * 1024;
        auto in = co_await connected();
        auto out = co_await connected();
        io::stream_source source(*in.server);
        io::stream_sink sink(*out.client);
        std::uint64_t told = 0;
        event some;
        auto progress = [&](std::uint64_t bytes) {
            told = bytes;
            some.set();
        };
        auto late = [&]() -> task<> {
            co_await some.wait();
            co_await sleep_for(50ms);
        };
        // Nobody reads: both connections fill up.
        auto feeding = feed(*in.client, size);
        auto work = [&]() -> task<> {
            auto first = when_any(io::copy(source, sink, {.block = block}, progress), late());
            const auto ended = co_await std::move(first);
            EXPECT_EQ(ended.index, 1U);
            EXPECT_GE(told, block);
            out.client->shutdown_output();
            const std::size_t arrived = co_await count_right(*out.server);
            EXPECT_EQ(arrived, told) << "also of the block that was cut";
            // The bytes left in the source are the end of those that were fed.
            std::size_t left = 0;
            std::string tail;
            while (auto got = co_await as_result(in.server->receive())) {
                left += got->size();
                tail.assign(got->view());
            }
            EXPECT_LE(arrived + left, size);
            EXPECT_GE(arrived + left + block, size);
            const std::string_view noise(block_of_noise());
            const std::size_t last = size % noise.size();
            EXPECT_TRUE(noise.substr(0, last).ends_with(
                tail.substr(tail.size() - std::min(tail.size(), last))));
        };
        auto working = work();
        co_await when_all(std::move(feeding), std::move(working));
    });
}

TEST_P(a_spliced_copy, fails_when_its_source_is_reset) {
    run([]() -> task<> {
        auto in = co_await connected();
        auto out = co_await connected();
        auto feeding = [&]() -> task<> {
            const std::string_view noise(block_of_noise());
            co_await in.client->send(noise);
            EXPECT_EQ(co_await count_right(*out.server, 0, noise.size()), noise.size());
            in.client->close(true);
        };
        auto copying = [&]() -> task<> {
            auto copied = co_await as_result(copy_all(*in.server, *out.client));
            EXPECT_FALSE(copied);
            if (!copied) {
                EXPECT_EQ(copied.error(), std::errc::connection_reset);
                EXPECT_EQ(copied.error().phase(), phase::receive);
                EXPECT_EQ(copied.error().bytes(), block_of_noise().size());
            }
            auto again = co_await as_result(in.server->receive());
            EXPECT_FALSE(again);
            if (!again) {
                EXPECT_EQ(again.error(), std::errc::connection_reset);
            }
        };
        auto a = feeding();
        auto b = copying();
        co_await when_all(std::move(a), std::move(b));
    });
}

TEST_P(a_spliced_copy, fails_when_its_reader_goes_without_a_signal) {
    run([]() -> task<> {
        auto in = co_await connected();
        auto out = co_await connected();
        auto feeding = [&]() -> task<> {
            static_cast<void>(co_await as_result(feed(*in.client, 100'000'000)));
        };
        auto reading = [&](net::byte_stream& from) -> task<> {
            EXPECT_GE(co_await count_right(from, 0, 200'000), 200'000U);
            from.close(true);
        };
        auto copying = [&](net::byte_stream& to) -> task<> {
            auto copied = co_await as_result(copy_all(*in.server, to));
            EXPECT_FALSE(copied);
            if (!copied) {
                EXPECT_TRUE(copied.error() == std::errc::broken_pipe ||
                            copied.error() == std::errc::connection_reset)
                    << copied.error();
                EXPECT_GE(copied.error().bytes(), 64U * 1024);
                EXPECT_LT(copied.error().bytes(), 100'000'000U);
            }
            in.server->close(true);
        };
        auto a = feeding();
        auto b = copying(*out.client);
        auto c = reading(*out.server);
        co_await when_all(std::move(a), std::move(b), std::move(c));
    });
}

TEST_P(a_spliced_copy, to_a_pipe_that_nobody_reads_any_more_fails_without_a_signal) {
    run([]() -> task<> {
        auto in = co_await connected();
        auto pipe = new_pipe();
        auto feeding = feed(*in.client, 1'000'000);
        auto reading = [&]() -> task<> {
            EXPECT_GE(co_await count_right(*pipe.reader, 0, 200'000), 200'000U);
            pipe.reader->close();
        };
        auto copying = [&]() -> task<> {
            auto copied = co_await as_result(copy_all(*in.server, *pipe.writer));
            EXPECT_FALSE(copied);
            if (!copied) {
                EXPECT_EQ(copied.error(), std::errc::broken_pipe);
            }
            in.server->close(true);
        };
        auto fed = [&]() -> task<> { static_cast<void>(co_await as_result(std::move(feeding))); };
        auto a = fed();
        auto b = copying();
        auto c = reading();
        co_await when_all(std::move(a), std::move(b), std::move(c));
    });
}

TEST_P(a_spliced_copy, lets_other_tasks_run_though_everything_is_there) {
    run([]() -> task<> {
        constexpr int capacity = 1024 * 1024;
        auto from = new_pipe();
        auto to = new_pipe();
        const bool large = ::fcntl(from.writer->fd(), F_SETPIPE_SZ, capacity) >= capacity &&
                           ::fcntl(to.writer->fd(), F_SETPIPE_SZ, capacity) >= capacity;
        EXPECT_TRUE(large);
        const std::string text = noise_of(capacity);
        EXPECT_EQ(co_await from.writer->send(text), text.size());
        from.writer->close();
        const std::uint64_t before = loop::current()->turns();
        EXPECT_EQ(co_await copy_all(*from.reader, *to.writer), text.size());
        EXPECT_GE(loop::current()->turns() - before, 1U);
        EXPECT_EQ(co_await read_exactly(*to.reader, text.size()), text);
    });
}

// That splice(2) is what is called, and that one which the system refuses loses nothing: neither
// what the source has still, nor what stands in the pipe.
TEST_P(a_spliced_copy, goes_on_through_a_block_when_the_system_refuses) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    for (const int number : {EINVAL, ENOSYS, EPERM, EINTR}) {
        for (const unsigned at : {1U, 2U, 3U, 4U, 9U}) {
            const failing_calls fails("splice", number, at, number != EINTR);
            run([]() -> task<> {
                auto in = co_await connected();
                auto out = co_await connected();
                co_await pass_through(*in.client, *in.server, *out.client, *out.server, 2'000'000);
            });
            EXPECT_TRUE(fails.happened()) << number << ' ' << at;
        }
    }
}

TEST_P(a_spliced_copy, of_less_than_64_KiB_makes_no_pipe) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    const failing_calls fails("splice", EIO, 1, true);
    run([]() -> task<> {
        auto in = co_await connected();
        auto out = co_await connected();
        co_await pass_through(*in.client, *in.server, *out.client, *out.server, 64 * 1024 - 1);
    });
    EXPECT_FALSE(fails.happened());
}

INSTANTIATE_TEST_SUITE_P(each_backend, a_spliced_copy, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });
