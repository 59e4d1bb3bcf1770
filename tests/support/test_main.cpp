// The main of every test program. A process that holds many tests says which of them was running
// when it died, and a test that hangs ends its process with the stacks of all threads.

#include "support/sanitized.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#if CORACLE_TEST_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

namespace {

/// Seconds that one test may take; the environment variable CORACLE_TEST_LIMIT names others.
constexpr long default_limit = coracle::testing::is_sanitized ? 180 : 60;

const int watch_signal = SIGRTMAX - 1;
const int stack_signal = SIGRTMAX - 2;

// Read by signal handlers.
std::array<char, 256> running{};
std::atomic<int> stacks_printed = 0;
timer_t watch{};
bool has_watch = false;
long limit = default_limit;

void say(std::string_view text) noexcept {
    static_cast<void>(::write(STDERR_FILENO, text.data(), text.size()));
}

void say_number(long n) noexcept {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), n).ptr;
    say({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void say_who_died() noexcept {
    if (running[0] == '\0') return;
    say("died in ");
    say(running.data());
    say("\n");
}

void on_abort(int number) noexcept {
    say_who_died();
    ::signal(number, SIG_DFL);
    ::raise(number);
}

/// Prints lines of the program itself by name, with addr2line; with that of LLVM where it is there,
/// which reads a large program of clang's in a tenth of the time.
void say_lines(const std::array<std::uintptr_t, 48>& offsets, std::size_t n) noexcept {
    std::array<std::array<char, 20>, 48> texts;
    std::array<char, 32> program{};
    std::snprintf(program.data(), program.size(), "/proc/%d/exe", static_cast<int>(::getpid()));
    std::array<const char*, 56> arguments{"llvm-addr2line-19", "-Cfpe", program.data()};
    for (std::size_t i = 0; i != n; ++i) {
        std::snprintf(texts[i].data(), texts[i].size(), "0x%lx",
                      static_cast<unsigned long>(offsets[i]));
        arguments[3 + i] = texts[i].data();
    }
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
        for (const char* const name : {arguments[0], "addr2line"}) {
            ::execvp(name, const_cast<char* const*>(arguments.data()));
        }
        ::_exit(1);
    }
    int status = 0;
    if (child > 0) ::waitpid(child, &status, 0);
}

// Not by __sanitizer_print_stack_trace: it allocates, which ThreadSanitizer forbids signal
// handlers.
void say_stack() noexcept {
    std::array<void*, 48> frames;
    const int n = ::backtrace(frames.data(), frames.size());
    ::backtrace_symbols_fd(frames.data(), n, STDERR_FILENO);
    Dl_info ours{};
    if (::dladdr(reinterpret_cast<void*>(&say_who_died), &ours) == 0) return;
    std::array<std::uintptr_t, 48> offsets{};
    std::size_t count = 0;
    for (int i = 0; i != n; ++i) {
        Dl_info info{};
        const auto at = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]) - 1;
        if (::dladdr(reinterpret_cast<void*>(at), &info) != 0 && info.dli_fbase == ours.dli_fbase)
            offsets[count++] = at - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    }
    say_lines(offsets, count);
}

void on_stack_wanted(int) noexcept {
    say("-- thread ");
    say_number(::gettid());
    say("\n");
    say_stack();
    ++stacks_printed;
}

/// Some threads, such as one of ThreadSanitizer's own, take no signals.
void wait_for_stack(int count) noexcept {
    for (int i = 0; i != 100 && stacks_printed < count; ++i) {
        const timespec pause{0, 10'000'000};
        ::nanosleep(&pause, nullptr);
    }
}

/// Calls `each` with the number of each thread of this process, without allocating.
template <class Each>
void for_each_thread(Each each) noexcept {
    const int folder = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    alignas(8) std::array<char, 4096> entries;
    for (;;) {
        const long size = ::syscall(SYS_getdents64, folder, entries.data(), entries.size());
        if (size <= 0) break;
        for (long at = 0; at < size;) {
            const char* const entry = entries.data() + at;
            unsigned short length = 0;
            std::memcpy(&length, entry + 16, sizeof length);
            const int thread = std::atoi(entry + 19);
            if (thread > 0) each(thread);
            at += length;
        }
    }
    ::close(folder);
}

void on_limit(int) noexcept {
    say("\n");
    say(running.data());
    say(" has run for ");
    say_number(limit);
    say(" s, so it is ended. The stacks of all threads:\n");
    const int self = ::gettid();
    on_stack_wanted(0);
    for_each_thread([self](int thread) {
        if (thread == self) return;
        const int before = stacks_printed;
        if (::syscall(SYS_tgkill, ::getpid(), thread, stack_signal) == 0)
            wait_for_stack(before + 1);
    });
    std::abort();
}

void handle(int number, void (*handler)(int) noexcept) {
    struct sigaction action{};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
}

class running_test final : public ::testing::EmptyTestEventListener {
    void OnTestStart(const ::testing::TestInfo& test) override {
        const std::string name = std::string(test.test_suite_name()) + "." + test.name();
        const std::size_t size = std::min(name.size(), running.size() - 1);
        std::copy_n(name.begin(), size, running.begin());
        running[size] = '\0';
        set_watch(limit);
    }
    void OnTestEnd(const ::testing::TestInfo&) override {
        set_watch(0);
        running[0] = '\0';
    }
    static void set_watch(long seconds) {
        const itimerspec when{{}, {seconds, 0}};
        if (has_watch) ::timer_settime(watch, 0, &when, nullptr);
    }
};

void start_watching() {
    if (const char* const text = std::getenv("CORACLE_TEST_LIMIT")) limit = std::atol(text);
    // backtrace(3) loads a library the first time, which a signal handler must not.
    std::array<void*, 1> frame;
    ::backtrace(frame.data(), 1);
    handle(SIGABRT, on_abort);
    handle(watch_signal, on_limit);
    handle(stack_signal, on_stack_wanted);
#if CORACLE_TEST_SANITIZED
    __sanitizer_set_death_callback(say_who_died);
    // The first report that is suppressed would start the symbolizer, in the midst of a test that
    // counts descriptors.
    std::array<char, 64> line;
    __sanitizer_symbolize_pc(reinterpret_cast<void*>(&say_who_died), "%f", line.data(),
                             line.size());
#endif
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = watch_signal;
    has_watch = ::timer_create(CLOCK_MONOTONIC, &event, &watch) == 0;
    // gtest owns it.
    ::testing::UnitTest::GetInstance()->listeners().Append(new running_test);
}

}  // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleMock(&argc, argv);
    start_watching();
    return RUN_ALL_TESTS();
}
