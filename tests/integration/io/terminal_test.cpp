#include "support/freed_memory.hpp"
#include "support/on_each_backend.hpp"
#include "support/stream_reads.hpp"

#include <coracle/base/secret.hpp>
#include <coracle/io/descriptor_stream.hpp>
#include <coracle/io/terminal.hpp>
#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/when_any.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace coracle;
using coracle::process::pseudo_terminal;
using coracle::testing::backend_name;
using coracle::testing::on_each_backend;
using coracle::testing::read_until;

namespace {

class terminal : public on_each_backend {};

INSTANTIATE_TEST_SUITE_P(each_backend, terminal, coracle::testing::system_backends(), backend_name);

/// A terminal without a loop.
struct plain_terminal {
    owned_fd master{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
    owned_fd slave;
    plain_terminal() {
        EXPECT_EQ(::grantpt(master.get()), 0);
        EXPECT_EQ(::unlockpt(master.get()), 0);
        slave.reset(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
        EXPECT_TRUE(slave);
    }
    bool is_as_it_began() const {
        return (flags() & (ICANON | ECHO | ISIG)) == (ICANON | ECHO | ISIG);
    }
    tcflag_t flags() const {
        termios t{};
        EXPECT_EQ(::tcgetattr(slave.get(), &t), 0);
        return t.c_lflag;
    }
};

std::string read_exactly(int fd, std::size_t n) {
    std::string all(n, '\0');
    std::size_t have = 0;
    while (have != n) {
        const ssize_t got = ::read(fd, all.data() + have, n - have);
        if (got <= 0) break;
        have += static_cast<std::size_t>(got);
    }
    all.resize(have);
    return all;
}

pseudo_terminal opened() {
    auto t = pseudo_terminal::open();
    if (!t) throw_exception(t.error());
    return *std::move(t);
}

owned_fd slave_of(const pseudo_terminal& t) {
    auto fd = t.open_slave();
    if (!fd) throw_exception(fd.error());
    return *std::move(fd);
}

io::password_options asked_at(const owned_fd& slave,
                              std::size_t limit = io::password_options().limit) {
    io::password_options o;
    o.fd = slave.get();
    o.limit = limit;
    return o;
}

bool shows_typing(const owned_fd& slave) {
    termios now{};
    EXPECT_EQ(::tcgetattr(slave.get(), &now), 0);
    return (now.c_lflag & ECHO) != 0;
}

}  // namespace

TEST(terminal_mode, puts_back_what_was_before_also_when_modes_nest) {
    const plain_terminal t;
    const io::terminal at(t.slave.get());
    EXPECT_TRUE(at.is_terminal());
    {
        auto quiet = at.set_mode(io::input_mode::line_without_echo);
        ASSERT_TRUE(quiet);
        EXPECT_EQ(t.flags() & (ICANON | ECHO), tcflag_t{ICANON});
        {
            auto raw = at.set_mode(io::input_mode::raw);
            ASSERT_TRUE(raw);
            EXPECT_EQ(t.flags() & (ICANON | ECHO | ISIG), 0u);
            auto line = at.set_mode(io::input_mode::line);
            EXPECT_TRUE(t.is_as_it_began());
        }
        EXPECT_EQ(t.flags() & (ICANON | ECHO), tcflag_t{ICANON});
    }
    EXPECT_TRUE(t.is_as_it_began());
}

TEST(terminal_mode, is_refused_where_there_is_no_terminal_and_beyond_its_limit) {
    const owned_fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const io::terminal none(null.get());
    EXPECT_FALSE(none.is_terminal());
    auto mode = none.set_mode(io::input_mode::raw);
    EXPECT_TRUE(!mode && mode.error() == std::errc::inappropriate_io_control_operation);
    auto size = none.size();
    EXPECT_TRUE(!size && size.error() == std::errc::inappropriate_io_control_operation);

    const plain_terminal t;
    const io::terminal at(t.slave.get());
    std::vector<io::terminal_mode> all;
    for (int i = 0; i != io::terminal::most_modes; ++i) {
        all.push_back(*at.set_mode(io::input_mode::raw));
    }
    auto more = at.set_mode(io::input_mode::raw);
    EXPECT_TRUE(!more && more.error() == errc::limit_exceeded);
    while (!all.empty()) all.pop_back();
    EXPECT_TRUE(t.is_as_it_began());
}

TEST(terminal_mode, is_restored_on_every_way_out) {
    const int ways[] = {0, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};
    for (const int way : ways) {
        const plain_terminal t;
        const int pid = ::fork();
        if (pid == 0) {
            const rlimit no_core{};
            ::setrlimit(RLIMIT_CORE, &no_core);
            if (way != 0) std::signal(way, SIG_DFL);  // a sanitizer may have taken it
            const io::terminal at(t.slave.get());
            auto first = at.set_mode(io::input_mode::line_without_echo);
            auto second = at.set_mode(io::input_mode::raw);
            if (t.is_as_it_began()) ::_exit(77);
            if (way == 0) ::exit(5);
            ::raise(way);
            ::_exit(78);
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        if (way == 0)
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
        else
            EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == way) << status;
        EXPECT_TRUE(t.is_as_it_began()) << "signal " << way;
    }
}

TEST(terminal_mode, leaves_nothing_to_the_next_reader_that_was_typed_without_being_shown) {
    for (const int way : {0, SIGTERM}) {
        const plain_terminal t;
        EXPECT_EQ(::write(t.master.get(), "half", 4), 4);
        // The echo tells that the terminal has it.
        EXPECT_EQ(read_exactly(t.master.get(), 4), "half");
        const int pid = ::fork();
        if (pid == 0) {
            if (way != 0) std::signal(way, SIG_DFL);
            auto quiet = io::terminal(t.slave.get()).set_mode(io::input_mode::line_without_echo);
            if (way == 0) ::exit(5);
            ::raise(way);
            ::_exit(78);
        }
        ::waitpid(pid, nullptr, 0);
        EXPECT_EQ(::write(t.master.get(), "next\n", 5), 5);
        EXPECT_EQ(read_exactly(t.slave.get(), 5), "next\n") << "signal " << way;
    }
}

TEST(terminal_mode, leaves_handlers_of_the_program_alone_and_takes_its_own_away) {
    struct sigaction before{};
    const auto mine = [](int) {};
    std::signal(SIGQUIT, mine);
    const plain_terminal t;
    {
        auto raw = io::terminal(t.slave.get()).set_mode(io::input_mode::raw);
        ::sigaction(SIGQUIT, nullptr, &before);
        EXPECT_EQ(before.sa_handler, static_cast<void (*)(int)>(mine));
        ::sigaction(SIGTERM, nullptr, &before);
        EXPECT_NE(before.sa_handler, SIG_DFL);
    }
    ::sigaction(SIGTERM, nullptr, &before);
    EXPECT_EQ(before.sa_handler, SIG_DFL);
    std::signal(SIGQUIT, SIG_DFL);
}

TEST_P(terminal, gives_all_lines_that_were_typed_at_once) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        const owned_fd slave = slave_of(t);
        auto program = io::descriptor_stream::share(*loop::current(), slave.get(), "terminal");
        EXPECT_TRUE(program);
        co_await t.stream().send("one\ntwo\nthree\n");
        EXPECT_EQ(co_await read_until(**program, "three\n"), "one\ntwo\nthree\n");
        EXPECT_EQ(::fcntl(slave.get(), F_GETFL) & O_NONBLOCK, 0);
    });
}

TEST_P(terminal, gives_single_bytes_in_raw_mode) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        const owned_fd slave = slave_of(t);
        auto program = io::descriptor_stream::share(*loop::current(), slave.get(), "terminal");
        auto raw = io::terminal(slave.get()).set_mode(io::input_mode::raw);
        EXPECT_TRUE(raw);
        co_await t.stream().send("\x03x");
        EXPECT_EQ(co_await read_until(**program, "x"), "\x03x");
        co_await (*program)->send("a\nb");
        EXPECT_EQ(co_await read_until(t.stream(), "b"), "a\nb");
    });
}

TEST_P(terminal, ends_when_it_hangs_up) {
    run([]() -> task<> {
        std::optional<pseudo_terminal> t = opened();
        const owned_fd slave = slave_of(*t);
        auto program = io::descriptor_stream::share(*loop::current(), slave.get(), "terminal");
        const auto read = [&]() -> task<error> {
            auto r = co_await as_result((*program)->receive());
            co_return r ? error() : r.error();
        };
        const auto hang_up = [&]() -> task<> {
            co_await yield();
            t.reset();
        };
        auto [e, nothing] = co_await when_all(read(), hang_up());
        EXPECT_EQ(e, errc::end_of_stream) << e;
        auto w = co_await as_result((*program)->send("nobody reads"));
        EXPECT_TRUE(!w && w.error() == std::errc::io_error);
        EXPECT_NE(w.error().message().find("terminal"), std::string::npos);
    });
}

TEST_P(terminal, ends_for_its_master_when_the_last_program_has_left) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        owned_fd slave = slave_of(t);
        EXPECT_EQ(::write(slave.get(), "bye", 3), 3);
        slave.reset();
        EXPECT_EQ(co_await read_until(t.stream(), "bye"), "bye");
        auto r = co_await as_result(t.stream().receive());
        EXPECT_TRUE(!r && r.error() == errc::end_of_stream);
    });
}

TEST_P(terminal, asks_for_a_password_that_is_not_shown) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        const owned_fd slave = slave_of(t);
        const io::password_options o = asked_at(slave);
        const auto ask = [&]() -> task<std::string> {
            co_return co_await io::read_password("Password: ", o);
        };
        const auto type = [&]() -> task<std::string> {
            std::string seen = co_await read_until(t.stream(), "Password: ");
            co_await t.stream().send("secret\n");
            seen += co_await read_until(t.stream(), "\n");
            co_return seen;
        };
        auto [password, seen] = co_await when_all(ask(), type());
        EXPECT_EQ(password, "secret");
        EXPECT_EQ(seen, "Password: \r\n");
        EXPECT_TRUE(shows_typing(slave));
    });
}

TEST_P(terminal, refuses_a_long_password_and_restores_the_echo_when_it_is_cancelled) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        const owned_fd slave = slave_of(t);
        const io::password_options o = asked_at(slave, 3);
        co_await t.stream().send("four\n");
        auto four = co_await as_result(io::read_password("? ", o));
        EXPECT_TRUE(!four && four.error() == errc::limit_exceeded);
        co_await t.stream().send("thr\n");
        auto three = co_await as_result(io::read_password("? ", o));
        EXPECT_TRUE(three && *three == "thr");
        const auto ask = [&]() -> task<> { co_await io::read_password("? ", o); };
        EXPECT_EQ((co_await when_any(ask(), coracle::yield())).index, 1u);
        EXPECT_TRUE(shows_typing(slave));
    });
}

TEST_P(terminal, leaves_nothing_of_a_password_that_is_not_given_to_the_next_reader) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        const owned_fd slave = slave_of(t);
        const io::password_options o = asked_at(slave, 3);
        co_await t.stream().send("half");
        // The echo tells that the terminal has it.
        EXPECT_EQ(co_await read_until(t.stream(), "half"), "half");
        const auto ask = [&]() -> task<> { co_await io::read_password("? ", o); };
        EXPECT_EQ((co_await when_any(ask(), coracle::yield())).index, 1u);
        co_await t.stream().send("next\n");
        EXPECT_EQ(read_exactly(slave.get(), 5), "next\n");

        co_await t.stream().send("four\nmore\n");
        int there = 0;
        while (::ioctl(slave.get(), FIONREAD, &there) == 0 && there < 10) co_await coracle::yield();
        auto four = co_await as_result(io::read_password("? ", o));
        EXPECT_TRUE(!four && four.error() == errc::limit_exceeded);
        EXPECT_EQ(::ioctl(slave.get(), FIONREAD, &there), 0);
        EXPECT_EQ(there, 0);
    });
}

TEST_P(terminal, gives_a_short_password_in_memory_of_which_there_is_no_copy) {
    run([]() -> task<> {
        pseudo_terminal t = opened();
        const owned_fd slave = slave_of(t);
        const io::password_options o = asked_at(slave, 3);
        co_await t.stream().send("abc\n");
        const std::string given = co_await io::read_password("? ", o);
        EXPECT_EQ(given, "abc");
        // A short string holds its bytes within itself, and they are copied wherever it is moved.
        EXPECT_GT(given.capacity(), std::string().capacity());
    });
}

TEST_P(terminal, leaves_nothing_of_a_password_in_memory) {
    constexpr std::string_view password =
        "a password that is longer than fits into a string itself";
    const coracle::testing::freed_memory_watch freed(password.substr(10, 20));
    run([&]() -> task<> {
        pseudo_terminal t = opened();
        const owned_fd slave = slave_of(t);
        const auto type = [&](int fd, std::string_view end = "\n") {
            EXPECT_EQ(::write(fd, password.data(), password.size()), std::ssize(password));
            EXPECT_EQ(::write(fd, end.data(), end.size()), std::ssize(end));
        };
        // Nothing of this side's goes through memory that is given back.
        const owned_fd master(::fcntl(t.stream().fd(), F_DUPFD_CLOEXEC, 0));
        type(master.get());
        {
            const secret given(co_await io::read_password("? ", asked_at(slave)));
            EXPECT_EQ(given.reveal(), password);
        }
        type(master.get());
        auto cut = co_await as_result(io::read_password("? ", asked_at(slave, 40)));
        EXPECT_TRUE(!cut && cut.error() == errc::limit_exceeded);
        // Ctrl-D hands over what there is of a line.
        type(master.get(), "\4beyond\n");
        auto later = co_await as_result(io::read_password("? ", asked_at(slave, 60)));
        EXPECT_TRUE(!later && later.error() == errc::limit_exceeded);
    });
    EXPECT_EQ(freed.found(), 0u);
}

TEST(window_changes, fails_where_there_is_no_terminal) {
    const owned_fd file(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    io::window_changes changes{io::terminal(file.get())};
    block_on([&]() -> task<> {
        auto next = changes.next();
        const auto size = co_await as_result(next);
        EXPECT_TRUE(!size && size.error() == std::errc::inappropriate_io_control_operation);
    });
}

TEST(window_changes, tells_of_a_new_size) {
    const plain_terminal t;
    const io::terminal at(t.slave.get());
    EXPECT_TRUE(at.set_size({80, 25}));
    EXPECT_EQ(*at.size(), (io::window_size{80, 25}));
    io::window_changes changes(at);
    block_on([&]() -> task<> {
        const auto resize = [&]() -> task<> {
            co_await yield();
            EXPECT_TRUE(at.set_size({132, 50}));
            ::kill(::getpid(), SIGWINCH);  // as it goes to the programs of the terminal
        };
        auto [size, nothing] = co_await when_all(changes.next(), resize());
        EXPECT_EQ(size, (io::window_size{132, 50}));
    });
}
