#include "fs/line_ring.hpp"

#include <coracle/base/error.hpp>
#include <coracle/fs/line_file.hpp>
#include <coracle/fs/plain_file.hpp>
#include <coracle/runtime/futex.hpp>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <thread>

namespace coracle::fs {
namespace {

/// What the thread of the file is at: the word that producers look at.
enum activity : std::uint32_t { writing, asleep, gathering };

/// Of a pipe, what is written without waiting once poll(2) says that there is room.
constexpr std::size_t pipe_piece = 4096;
/// How long a pipe that takes nothing is waited for at a time, in milliseconds,
constexpr int patience = 50;
/// and how many times in all at the end.
constexpr int last_times = 20;

// Its address says which thread this is, as long as the thread lives.
const void* this_thread() noexcept {
    thread_local const char here = 0;
    return &here;
}

bool is_standard_output(const std::string& path) noexcept {
    return path.empty() || path == "-";
}

error failure_of(int number, const char* what, const std::string& path) {
    error e(std::error_code(number, std::generic_category()), what);
    e.on(path);
    return e;
}

}  // namespace

struct line_file::state {
    state(std::string where, line_file_options o) : path(std::move(where)), options(o) {
        options.buffer = std::bit_ceil(std::max<std::size_t>(options.buffer, 1024));
        if (const int number = open(); number != 0) {
            throw_exception(failure_of(number, "open", path));
        }
        // No signal of the process is this thread's: not SIGPIPE, and none that a task waits for.
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, &before);
        try {
            thread = std::thread([this] { run(); });
        } catch (...) {
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
            close();
            throw;
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    ~state() {
        stop.store(true);
        wake();
        thread.join();
        close();
        for (detail::line_ring* r = rings.load(); r != nullptr;) {
            delete std::exchange(r, r->next);
        }
    }

    // Producers.

    detail::line_ring* ring_of_this_thread() noexcept {
        const void* const me = this_thread();
        for (auto* r = rings.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            if (r->owner() == me) return r;
        }
        try {
            auto* mine = new detail::line_ring(me, options.buffer);
            mine->next = rings.load(std::memory_order_relaxed);
            while (!rings.compare_exchange_weak(mine->next, mine, std::memory_order_release,
                                                std::memory_order_relaxed)) {
            }
            return mine;
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }

    void notify(const detail::line_ring& r) noexcept {
        // Against the fence of `wait_for_work`: either the thread sees the line, or we see it
        // asleep.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const std::uint32_t now = doing.word.load(std::memory_order_relaxed);
        if (now == asleep || (now == gathering && r.half_full())) wake();
    }

    void wake() noexcept {
        if (doing.word.exchange(writing) != writing) doing.wake();
    }

    // The thread.

    void run() noexcept {
        for (;;) {
            const bool last = stop.load();
            const std::uint32_t asked = flush_asked.load();
            // Asked before the writing, done after it: what was added before `reopen` is of the
            // old file.
            const bool reopen = reopen_asked.exchange(false);
            write_all();
            if (reopen) open_again();
            if (flushed.word.exchange(asked) != asked) flushed.wake_all();
            if (last) return;
            wait_for_work();
        }
    }

    void wait_for_work() noexcept {
        doing.word.store(asleep);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!has_work()) doing.wait_blocking(asleep);
        doing.word.store(gathering);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!is_hurried()) static_cast<void>(doing.wait_blocking(gathering, options.flush_after));
        doing.word.store(writing);
    }

    bool has_work() const noexcept {
        for (auto* r = rings.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            if (!r->empty()) return true;
        }
        return is_hurried();
    }
    bool is_hurried() const noexcept {
        for (auto* r = rings.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            if (r->half_full()) return true;
        }
        return stop.load() || reopen_asked.load() || flush_asked.load() != flushed.word.load();
    }

    void write_all() noexcept {
        for (auto* r = rings.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            if (r->empty()) continue;
            batch.clear();
            // What a full disk cut off must not run into the next line.
            if (torn) batch += '\n';
            const std::size_t begin = batch.size();
            r->take(batch);
            write(batch, begin);
        }
    }

    // The lines begin at `begin`.
    void write(std::string_view text, std::size_t begin) noexcept {
        std::size_t done = 0;
        while (done != text.size()) {
            if (!wait_for_room()) break;
            const std::size_t piece = regular ? text.size() - done : pipe_piece;
            const ssize_t n = ::write(fd, text.data() + done, std::min(piece, text.size() - done));
            if (n >= 0) {
                done += static_cast<std::size_t>(n);
            } else if (errno != EINTR && errno != EAGAIN) {
                complain("write", errno);
                break;
            }
        }
        bytes.fetch_add(done, std::memory_order_relaxed);
        if (done != 0) torn = text[done - 1] != '\n';
        if (done == text.size()) {
            healthy = true;
            return;
        }
        const std::string_view rest = text.substr(std::max(done, begin));
        lost.fetch_add(static_cast<std::uint64_t>(std::count(rest.begin(), rest.end(), '\n')),
                       std::memory_order_relaxed);
    }

    // False when it is the end, and nobody reads.
    bool wait_for_room() noexcept {
        for (;;) {
            const bool last = stop.load();
            pollfd p{fd, POLLOUT, 0};
            const int ready = ::poll(&p, 1, last && times_left == 0 ? 0 : patience);
            if (ready > 0) return true;
            if (ready < 0 || !last) continue;
            if (times_left != 0) --times_left;
            if (times_left == 0) return false;
        }
    }

    // Once until it works again.
    void complain(const char* what, int number) noexcept {
        errors.fetch_add(1, std::memory_order_relaxed);
        if (options.log == nullptr || !std::exchange(healthy, false)) return;
        options.log->write(log_layer::net, log_level::error,
                           failure_of(number, what, path).message());
    }

    int open() noexcept {
        if (is_standard_output(path)) {
            fd = STDOUT_FILENO;
        } else {
            int opened = -1;
            do {
                opened = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
            } while (opened < 0 && errno == EINTR);
            if (opened < 0) return errno;
            close();
            fd = opened;
        }
        struct stat s{};
        regular = ::fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
        return 0;
    }

    void open_again() noexcept {
        if (is_standard_output(path)) return;
        if (const int number = open(); number != 0) {
            complain("open", number);
            return;
        }
        torn = false;
        healthy = true;
        reopened.fetch_add(1, std::memory_order_relaxed);
    }

    void close() noexcept {
        if (!is_standard_output(path)) close_descriptor(std::exchange(fd, -1));
    }

    const std::string path;
    line_file_options options;
    int fd = -1;
    bool regular = true;
    bool torn = false;    ///< the file ends in the midst of a line
    bool healthy = true;  ///< a failure is news
    int times_left = last_times;
    std::string batch;
    std::atomic<detail::line_ring*> rings{nullptr};
    futex doing{writing};
    std::atomic<bool> stop{false};
    std::atomic<bool> reopen_asked{false};
    std::atomic<std::uint32_t> flush_asked{0};
    futex flushed{0};
    std::atomic<std::uint64_t> lost{0};
    std::atomic<std::uint64_t> homeless{0};  ///< lines for whose thread no buffer could be had
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> errors{0};
    std::atomic<std::uint64_t> reopened{0};
    std::thread thread;
};

line_file::line_file(std::string path, line_file_options options)
    : state_(std::make_unique<state>(std::move(path), options)) {}
line_file::~line_file() = default;

bool line_file::add(std::string_view line) noexcept {
    detail::line_ring* const mine = state_->ring_of_this_thread();
    if (mine == nullptr) {
        state_->homeless.fetch_add(1, std::memory_order_relaxed);
        return false;
    }
    const bool taken = mine->push(line);
    state_->notify(*mine);
    return taken;
}

void line_file::reopen() noexcept {
    state_->reopen_asked.store(true);
    state_->wake();
}

void line_file::flush() {
    const std::uint32_t mine = state_->flush_asked.fetch_add(1) + 1;
    state_->wake();
    for (;;) {
        const std::uint32_t done = state_->flushed.word.load();
        if (static_cast<std::int32_t>(done - mine) >= 0) return;
        state_->flushed.wait_blocking(done);
    }
}

line_file_counters line_file::counters() const noexcept {
    line_file_counters c;
    for (auto* r = state_->rings.load(std::memory_order_acquire); r != nullptr; r = r->next) {
        c.lines += r->lines();
        c.dropped += r->dropped();
    }
    c.dropped += state_->lost.load(std::memory_order_relaxed) +
                 state_->homeless.load(std::memory_order_relaxed);
    c.bytes = state_->bytes.load(std::memory_order_relaxed);
    c.errors = state_->errors.load(std::memory_order_relaxed);
    c.reopened = state_->reopened.load(std::memory_order_relaxed);
    return c;
}

}  // namespace coracle::fs
