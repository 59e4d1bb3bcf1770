// Every system call of every backend fails in turn: the work then succeeds all the same, or ends
// with an error, and never hangs.

#include "support/backends.hpp"
#include "support/failing_calls.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/io/copy.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/runtime/backend_report.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

/// Goes through the kernel once 64 KiB have gone.
task<> splices() {
    auto from = co_await connected();
    auto to = co_await connected();
    const std::string text(200'000, 'x');
    const auto feeds = [&]() -> task<> {
        co_await from.client->send(text);
        from.client->shutdown_output();
    };
    const auto copies = [&]() -> task<> {
        io::stream_source source(*from.server);
        io::stream_sink sink(*to.client);
        EXPECT_EQ(co_await io::copy(source, sink), text.size());
    };
    const auto reads = [&]() -> task<> {
        const std::string got = co_await read_exactly(*to.server, text.size());
        EXPECT_EQ(got, text);
    };
    co_await when_all(feeds(), copies(), reads());
}

/// Uses each kind of system call, and stops at the first error.
task<> everything(int file, int foreign) {
    auto l = net::listener::open(*loop::current(), loopback());
    if (!l) throw exception(l.error());
    auto both = co_await connect_to(*l);
    const std::string text(200'000, 'x');
    std::string head = "head";
    slice pieces[2] = {{head.data(), head.size()}, {text.data(), text.size()}};
    const auto sends = [&]() -> task<> {
        co_await both.client->send(pieces);
        co_await both.client->send_file(file, 0, 5);
        co_await yield();
        co_await both.client->send(text);
        both.client->shutdown_output();
    };
    const auto reads = [&]() -> task<> {
        std::size_t read = 0;
        for (std::size_t i = 0;; ++i) {
            const std::size_t most = i % 3 == 2 ? 65536 : 16384;
            auto b = co_await as_result(both.server->receive(most));
            if (!b) {
                if (b.error() == errc::end_of_stream) break;
                throw exception(b.error());
            }
            read += b->size();
        }
        EXPECT_EQ(read, 2 * text.size() + 4 + 5);
    };
    co_await when_all(sends(), reads());
    co_await splices();
    co_await readable(foreign);
    co_await as_result(with_timeout(1us, both.server->receive()));
}

enum class outcome { success, failure, late };

outcome run(const backend_case& c, int file, int foreign, std::error_code& why) {
    try {
        loop_on on(c);
        bool late = false;
        const auto f = [&]() -> task<> {
            auto r = co_await as_result(with_timeout(5s, everything(file, foreign)));
            late = !r && r.error() == std::errc::timed_out;
            if (!r) throw exception(r.error());
        };
        try {
            on.run(f);
        } catch (const exception& e) {
            why = e.error().code();
            return late ? outcome::late : outcome::failure;
        }
        return outcome::success;
    } catch (const exception& e) {
        why = e.error().code();
        EXPECT_FALSE(e.error().operation().empty());
        return outcome::failure;
    }
}

class backend_failures : public ::testing::TestWithParam<backend_case> {
protected:
    backend_failures()
        : path_(directory_.write("file", "bytes")), file_(::open(path_.c_str(), O_RDONLY)),
          foreign_(::open("/dev/zero", O_RDONLY)) {}
    ~backend_failures() override {
        ::close(file_);
        ::close(foreign_);
    }

    /// Each call that the work makes fails at its 1st, 2nd, 3rd, 5th, 9th... time.
    void fail_each_with(int number) {
        if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
        for (const std::string_view call : failing_calls::names) {
            // An interrupted connect goes on by itself, and one that is replaced does not.
            if (call == "connect" && number == EINTR) continue;
            for (unsigned at = 1;; at += (at + 1) / 2) {
                std::error_code why;
                const failing_calls fails(call.data(), number, at);
                const outcome o = run(GetParam(), file_, foreign_, why);
                if (!fails.happened()) {
                    EXPECT_TRUE(o == outcome::success) << call << ' ' << why.message();
                    break;
                }
                EXPECT_TRUE(o != outcome::late) << call << " the " << at << ". time";
                if (o == outcome::failure && number != EINTR) {
                    EXPECT_TRUE(why) << call;
                } else if (number == EINTR &&
                           !failing_calls::may_report_interruption(call.data())) {
                    EXPECT_TRUE(o == outcome::success) << call << ' ' << why.message();
                }
                ++failed_;
            }
        }
        EXPECT_GT(failed_, 15) << "calls are not replaced: this shows nothing";
    }

    temporary_directory directory_;
    std::string path_;
    int file_;
    int foreign_;
    int failed_ = 0;
};

}  // namespace

TEST_P(backend_failures, no_memory_is_survived) {
    fail_each_with(ENOMEM);
}

TEST_P(backend_failures, no_buffers_are_survived) {
    fail_each_with(ENOBUFS);
}

TEST_P(backend_failures, interruptions_are_survived) {
    fail_each_with(EINTR);
}

TEST_P(backend_failures, behind_a_part_of_a_file_end_no_process) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    loop_on on(GetParam());
    const failing_calls fails("sendfile", EPIPE, 1);
    const auto f = [&]() -> task<> {
        auto both = co_await connected();
        co_await both.client->send_file(file_, 0, 5);
        const std::string text = co_await read_exactly(*both.server, 5);
        EXPECT_EQ(text, "bytes");
    };
    on.run(f);
    EXPECT_TRUE(fails.happened());
    sigset_t waiting;
    sigpending(&waiting);
    EXPECT_FALSE(sigismember(&waiting, SIGPIPE));
}

INSTANTIATE_TEST_SUITE_P(each_backend, backend_failures, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });

TEST(backend_choice, takes_another_when_io_uring_is_refused_and_says_why) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    for (const int number : {ENOSYS, EPERM, ENOMEM, EMFILE}) {
        const failing_calls fails("io_uring_queue_init_params", number, 1, true);
        auto refused = make_backend(backend_kind::uring);
        ASSERT_FALSE(refused);
        EXPECT_TRUE(refused.error().code() == std::error_code(number, std::generic_category()));
        EXPECT_FALSE(refused.error().subject().empty()) << "it has to say why";
        const backend_report r = probe_backends();
        EXPECT_EQ(r.backends.size(), 3u);
        for (const backend_status& s : r.backends) {
            EXPECT_EQ(s.usable, s.kind != backend_kind::uring);
            EXPECT_EQ(s.why_not.empty(), s.usable);
        }
        EXPECT_FALSE(r.why.empty());
    }
}

TEST(backend_choice, goes_without_what_a_kernel_refuses) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    for (const char* const call : {"io_uring_register_buf_ring", "io_uring_register_ring_fd"}) {
        const failing_calls fails(call, EINVAL, 1, true);
        runtime_options o;
        o.backend = backend_kind::uring;
        if (!make_backend(o.backend)) GTEST_SKIP() << "there is no io_uring here";
        const auto f = []() -> task<> {
            auto both = co_await connected();
            co_await both.client->send("hello");
            const std::string text = co_await read_exactly(*both.server, 5);
            EXPECT_EQ(text, "hello");
            // A ring is registered in a run that lasts.
            co_await turns(30);
        };
        block_on(f, o);
        EXPECT_TRUE(fails.happened());
    }
}

TEST(backend_choice, honours_the_environment) {
    const char* const given = std::getenv("CORACLE_BACKEND");
    const std::string before = given != nullptr ? given : "";
    for (const std::string kind : {"epoll", "poll"}) {
        ::setenv("CORACLE_BACKEND", kind.c_str(), 1);
        auto b = make_backend(backend_kind::automatic);
        ASSERT_TRUE(b);
        EXPECT_EQ((*b)->name(), kind);
        EXPECT_EQ(to_string(probe_backends().chosen), kind);
    }
    ::setenv("CORACLE_BACKEND", "carrier-pigeon", 1);
    auto b = make_backend(backend_kind::automatic);
    ASSERT_FALSE(b);
    EXPECT_NE(b.error().message().find("carrier-pigeon"), std::string::npos);
    EXPECT_NE(probe_backends().why.find("carrier-pigeon"), std::string::npos);
    EXPECT_TRUE(make_backend(backend_kind::poll)) << "who chooses for himself is not asked";
    if (given != nullptr)
        ::setenv("CORACLE_BACKEND", before.c_str(), 1);
    else
        ::unsetenv("CORACLE_BACKEND");
}
