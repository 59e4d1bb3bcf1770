#include "support/allocation_count.hpp"
#include "support/pieces.hpp"

#include <coracle/io/writer.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

using namespace coracle;
using coracle::testing::allocations;
using coracle::testing::counts_allocations;
using coracle::testing::recording_sink;

namespace somebody {

struct point {
    int x;
    int y;
};
std::string to_text(const point& p) {
    return io::format("({}, {})", p.x, p.y);
}

struct unprintable {};
std::string to_text(const unprintable&) {
    throw std::runtime_error("no text");
}

}  // namespace somebody

namespace {

constexpr io::writer_options tight{.block = 64};

TEST(a_format, puts_each_kind_of_value_in) {
    EXPECT_EQ(io::format("plain"), "plain");
    EXPECT_EQ(io::format("{{}} {}{{", 1), "{} 1{");
    EXPECT_EQ(io::format("{}{}{}", 'a', "b", std::string("c")), "abc");
    EXPECT_EQ(io::format("{} {}", true, false), "true false");
    EXPECT_EQ(io::format("{} {}", std::numeric_limits<std::int64_t>::min(),
                         std::numeric_limits<std::uint64_t>::max()),
              "-9223372036854775808 18446744073709551615");
    EXPECT_EQ(io::format("{} {}", std::uint8_t{200}, std::int8_t{-100}), "200 -100");
    EXPECT_EQ(io::format("{} {} {}", 0.1, 0.1F, -1e300), "0.1 0.1 -1e+300");
    EXPECT_EQ(io::format("{}", std::numeric_limits<double>::lowest()), "-1.7976931348623157e+308");
    EXPECT_EQ(io::format("{}", std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
    EXPECT_EQ(io::format("{}", somebody::point{1, -2}), "(1, -2)");
    EXPECT_EQ(io::format("{}", net::address::v4({127, 0, 0, 1}, 80)), "127.0.0.1:80");
}

TEST(a_writer, passes_on_what_the_text_of_a_value_throws) {
    block_on([]() -> task<> {
        recording_sink to;
        io::writer out(to, tight);
        for (int i = 0; i != 2; ++i) {
            bool thrown = false;
            try {
                const somebody::unprintable value;
                auto printing = out.print("{}", value);
                co_await printing;
            } catch (const std::runtime_error&) {
                thrown = true;
            }
            EXPECT_TRUE(thrown);
            // The next time there is no room in the block.
            co_await out.write(
                std::string_view("0123456789012345678901234567890123456789"
                                 "012345678901234567890123"));
        }
    });
}

TEST(a_writer, ends_lines_in_the_block_and_behind_it) {
    block_on([]() -> task<> {
        recording_sink to;
        io::writer out(to, tight);
        std::string expected;
        for (int i = 0; i != 100; ++i) {
            co_await out.println("{:>{}}", i, i);
            expected += io::format("{:>{}}", i, i) + '\n';
        }
        co_await out.println("");
        co_await out.flush();
        EXPECT_EQ(to.text(), expected + '\n');
    });
}

TEST(a_writer, writes_nothing_before_its_block_is_full) {
    block_on([]() -> task<> {
        recording_sink to;
        io::writer out(to, tight);
        for (int i = 0; i != 64; ++i) co_await out.put('x');
        EXPECT_EQ(to.writes(), 0U);
        EXPECT_EQ(out.buffered(), 64U);
        co_await out.put('y');
        EXPECT_EQ(to.text(), std::string(64, 'x') + 'y');
        EXPECT_EQ(out.buffered(), 0U);
        EXPECT_EQ(out.position(), 65U);
        EXPECT_EQ(to.writes(), 1U);
    });
}

TEST(a_writer, gives_what_it_holds_and_what_does_not_fit_in_one_write) {
    const std::string large(100'000, 'L');
    block_on([&]() -> task<> {
        recording_sink to;
        io::writer out(to, tight);
        co_await out.write("before ");
        co_await out.write(large);
        EXPECT_EQ(to.writes(), 1U);
        EXPECT_EQ(to.text(), "before " + large);
        co_await out.write(large);
        EXPECT_EQ(to.writes(), 2U);
        co_await out.write("");
        co_await out.flush();
        EXPECT_EQ(to.writes(), 2U);
        EXPECT_EQ(to.flushes(), 1U);
        EXPECT_FALSE(to.finished());
        co_await out.finish();
        EXPECT_TRUE(to.finished());
    });
}

TEST(a_writer, writes_the_same_whatever_the_sizes) {
    block_on([]() -> task<> {
        for (std::size_t size = 1; size != 140; ++size) {
            recording_sink to;
            io::writer out(to, tight);
            std::string expected;
            for (std::size_t i = 0; i != 10; ++i) {
                const std::string piece(size, static_cast<char>('a' + i));
                expected += piece;
                co_await out.write(piece);
                co_await out.print("{}-{};", i, piece);
                expected.append(std::to_string(i)).append("-").append(piece).append(";");
                co_await out.write_struct(std::uint32_t{0x61616161});
                expected += "aaaa";
            }
            EXPECT_EQ(out.position(), expected.size());
            co_await out.flush();
            EXPECT_EQ(to.text(), expected) << size;
        }
    });
}

TEST(a_writer, writes_into_its_block_without_a_frame_and_without_suspending) {
    if (!counts_allocations()) GTEST_SKIP() << "the pools stand aside in this build";
    block_on([]() -> task<> {
        recording_sink to;
        io::writer out(to);
        co_await out.put('0');
        const std::uint64_t turns = loop::current()->turns();
        // A frame from the pool is no allocation: that none is asked for shows without a pool.
        block_pool* const pool = std::exchange(coracle::detail::current_pool, nullptr);
        const std::size_t before = allocations();
        for (int i = 0; i != 200; ++i) {
            co_await out.write("some text");
            co_await out.print("{} of {}, {}: {}\n", i, 200, 0.5, "text");
            co_await as_result(out.put('\n'));
            co_await out.write_struct(i);
        }
        const std::size_t made = allocations() - before;
        coracle::detail::current_pool = pool;
        EXPECT_EQ(made, 0U);
        EXPECT_EQ(to.writes(), 0U);
        EXPECT_EQ(loop::current()->turns(), turns);
        co_await out.flush();
    });
}

TEST(a_writer, keeps_the_error_of_its_sink) {
    block_on([]() -> task<> {
        recording_sink to(100);
        io::writer out(to, tight);
        const std::string text(64, 'x');
        co_await out.write(text);
        co_await out.write("12345678901234567890");
        co_await out.write("held");
        auto failed = co_await as_result(out.write(text));
        EXPECT_FALSE(failed);
        if (!failed) {
            EXPECT_EQ(failed.error(), std::errc::no_space_on_device);
        }
        EXPECT_EQ(out.buffered(), 0U);
        const std::size_t writes = to.writes();
        auto put = co_await as_result(out.put('x'));
        auto printed = co_await as_result(out.print("{}", 1));
        auto flushed = co_await as_result(out.flush());
        auto finished = co_await as_result(out.finish());
        for (const auto* r : {&put, &printed, &flushed, &finished}) {
            EXPECT_FALSE(*r);
            if (!*r) {
                EXPECT_EQ(r->error(), std::errc::no_space_on_device);
            }
        }
        EXPECT_EQ(to.writes(), writes);
        EXPECT_FALSE(to.finished());
    });
}

/// Never takes anything, and knows nothing of `as_result`.
class stuck_sink final : public io::sink {
public:
    task<std::expected<void, error>> write(std::span<slice>) override {
        co_await forever();
        co_return std::expected<void, error>();
    }
};

TEST(a_writer, that_was_cancelled_amid_a_write_says_so_ever_after) {
    block_on([]() -> task<> {
        stuck_sink to;
        io::writer out(to, tight);
        const std::string text(100, 'x');
        auto cut = co_await as_result(with_timeout(std::chrono::milliseconds(1), out.write(text)));
        EXPECT_FALSE(cut);
        auto after = co_await as_result(out.put('x'));
        EXPECT_FALSE(after);
        if (!after) {
            EXPECT_EQ(after.error(), std::errc::operation_canceled);
        }
    });
}

TEST(a_writer, logs_what_it_loses_when_it_is_destroyed) {
    std::vector<std::string> logged;
    logger log;
    log.set_sink(
        [](void* to, log_level, log_layer, std::string_view text) {
            static_cast<std::vector<std::string>*>(to)->emplace_back(text);
        },
        &logged);
    log.set_level(log_level::warning);
    auto backend = make_backend(backend_kind::poll);
    ASSERT_TRUE(backend);
    loop l(std::move(*backend), log);
    bool done = false;
    l.post([&] {
        recording_sink to;
        {
            io::writer nothing(to);
            io::writer out(to);
            auto kept = out.put('x');
            EXPECT_TRUE(kept.await_ready());
            io::writer dropped(to);
            auto gone = dropped.put('x');
            EXPECT_TRUE(gone.await_ready());
            dropped.discard();
        }
        done = true;
    });
    l.run_until(done);
    EXPECT_EQ(logged, std::vector<std::string>{
                          "a writer was destroyed with 1 bytes that were not flushed"});
}

TEST(a_writer, waits_while_its_sink_waits) {
    block_on([]() -> task<> {
        recording_sink to(UINT64_MAX, true);
        io::writer out(to, tight);
        const std::string text(63, 'x');
        const std::uint64_t before = loop::current()->turns();
        co_await out.write(text);
        EXPECT_EQ(loop::current()->turns(), before);
        co_await out.write(text);
        EXPECT_EQ(loop::current()->turns(), before + 1);
        EXPECT_EQ(to.text().size(), 126U);
    });
}

}  // namespace
