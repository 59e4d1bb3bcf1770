// Writes the lines of all threads on a thread of its own.

#include "fs/line_output.hpp"
#include "fs/line_ring.hpp"
#include "fs/line_writer.hpp"
#include "runtime/blocked_signals.hpp"

#include <coracle/fs/plain_file.hpp>
#include <coracle/runtime/futex.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <thread>

namespace coracle::fs::detail {
namespace {

/// The state of the writing thread, which producers check.
enum activity : std::uint32_t { writing, asleep, gathering };

/// The bytes that a pipe takes without waiting once poll(2) reports room.
constexpr std::size_t pipe_piece = 4096;
/// The wait for a pipe that takes nothing, in milliseconds,
constexpr int patience = 50;
/// and how many times in all at the end.
constexpr int last_times = 20;

// Its address identifies the thread while that lives.
const void* this_thread() noexcept {
    thread_local const char here = 0;
    return &here;
}

class threaded_output final : public line_output {
public:
    using line_output::line_output;
    ~threaded_output() override { close(); }

    int open() noexcept override {
        if (is_standard_output(path())) {
            fd_ = STDOUT_FILENO;
        } else {
            // A pipe without a reader would hold the thread up.
            constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
            int opened = -1;
            do {
                opened = ::open(path().c_str(), flags, 0640);
            } while (opened < 0 && errno == EINTR);
            if (opened < 0) return errno;
            close();
            fd_ = opened;
        }
        struct stat s{};
        if (::fstat(fd_, &s) != 0) return errno;
        regular_ = S_ISREG(s.st_mode);
        if (device_ != s.st_dev || number_ != s.st_ino) begins_other_file();
        device_ = s.st_dev;
        number_ = s.st_ino;
        return 0;
    }

    /// Bounds the wait for a pipe that takes nothing. From any thread.
    void hurry() noexcept { hurried_.store(true); }

private:
    std::int64_t write_some(std::string_view text) noexcept override {
        if (!wait_for_room()) return 0;
        const std::size_t most = regular_ ? text.size() : std::min(pipe_piece, text.size());
        const ssize_t n = ::write(fd_, text.data(), most);
        return n < 0 ? -errno : n;
    }

    // Returns false at the end, when the pipe has no reader.
    bool wait_for_room() noexcept {
        for (;;) {
            const bool last = hurried_.load();
            pollfd p{fd_, POLLOUT, 0};
            const int ready = ::poll(&p, 1, last && times_left_ == 0 ? 0 : patience);
            if (ready > 0) return true;
            if (ready < 0 || !last) continue;
            if (times_left_ != 0) --times_left_;
            if (times_left_ == 0) return false;
        }
    }

    void close() noexcept {
        if (!is_standard_output(path())) close_descriptor(std::exchange(fd_, -1));
    }

    int fd_ = -1;
    dev_t device_ = 0;  ///< with `number_`: the file that is open
    ino_t number_ = 0;
    bool regular_ = true;
    int times_left_ = last_times;
    std::atomic<bool> hurried_{false};
};

class threaded_line_writer final : public line_writer {
    static constexpr std::size_t least_buffer = 1024;
    static constexpr std::size_t most_buffer = std::size_t{1} << 26;

public:
    threaded_line_writer(std::string path, const line_file_options& options)
        : options_(options), output_(std::move(path), options.log) {
        options_.buffer = std::bit_ceil(std::clamp(options_.buffer, least_buffer, most_buffer));
        // The thread must need no memory later: a whole ring, behind the end of a torn line.
        batch_.reserve(options_.buffer + 1);
        if (const int number = output_.open(); number != 0) output_.throw_open_failed(number);
        const coracle::detail::blocked_signals on_the_thread;
        thread_ = std::thread([this] { run(); });
    }
    ~threaded_line_writer() override {
        stop_.store(true);
        output_.hurry();
        wake();
        thread_.join();
        for (line_ring* r = rings_.load(); r != nullptr;) delete std::exchange(r, r->next);
    }

    bool add(std::string_view line) noexcept override {
        line_ring* const mine = ring_of_this_thread();
        if (mine == nullptr) {
            homeless_.fetch_add(1, std::memory_order_relaxed);
            return false;
        }
        const bool taken = mine->push(line);
        notify(*mine);
        return taken;
    }

    void reopen() noexcept override {
        reopen_asked_.store(true);
        wake();
    }

    bool flush(duration most) override {
        const std::uint32_t mine = flush_asked_.fetch_add(1) + 1;
        wake();
        for (;;) {
            const std::uint32_t done = flushed_.word.load();
            if (static_cast<std::int32_t>(done - mine) >= 0) return true;
            if (!flushed_.wait_blocking(done, most)) return false;
        }
    }

    line_file_counters counters() const noexcept override {
        line_file_counters c;
        for (auto* r = rings_.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            c.lines += r->lines();
            c.dropped += r->dropped();
        }
        c.dropped += homeless_.load(std::memory_order_relaxed);
        output_.add_to(c);
        return c;
    }

private:
    // Producers.

    line_ring* ring_of_this_thread() noexcept {
        const void* const me = this_thread();
        for (auto* r = rings_.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            if (r->owner() == me) return r;
        }
        try {
            auto* mine = new line_ring(me, options_.buffer);
            mine->next = rings_.load(std::memory_order_relaxed);
            while (!rings_.compare_exchange_weak(mine->next, mine, std::memory_order_release,
                                                 std::memory_order_relaxed)) {
            }
            return mine;
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }

    void notify(const line_ring& r) noexcept {
        // Pairs with the fence of `wait_for_work`: either the thread sees the line, or we see it
        // asleep.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        const std::uint32_t now = doing_.word.load(std::memory_order_relaxed);
        if (now == asleep || (now == gathering && r.half_full())) wake();
    }

    void wake() noexcept {
        if (doing_.word.exchange(writing) != writing) doing_.wake();
    }

    // The thread.

    void run() noexcept {
        for (;;) {
            const bool last = stop_.load();
            const std::uint32_t asked = flush_asked_.load();
            // Read before the writing, acted upon after it: lines added before `reopen` belong to
            // the old file.
            const bool reopen = reopen_asked_.exchange(false);
            write_all();
            if (reopen) output_.open_again();
            if (flushed_.word.exchange(asked) != asked) flushed_.wake_all();
            if (last) return;
            wait_for_work();
        }
    }

    void wait_for_work() noexcept {
        doing_.word.store(asleep);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!has_work()) doing_.wait_blocking(asleep);
        doing_.word.store(gathering);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (!is_hurried()) static_cast<void>(doing_.wait_blocking(gathering, options_.flush_after));
        doing_.word.store(writing);
    }

    bool has_work() const noexcept {
        for (auto* r = rings_.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            if (!r->empty()) return true;
        }
        return is_hurried();
    }
    bool is_hurried() const noexcept {
        for (auto* r = rings_.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            if (r->half_full()) return true;
        }
        return stop_.load() || reopen_asked_.load() || flush_asked_.load() != flushed_.word.load();
    }

    void write_all() noexcept {
        for (auto* r = rings_.load(std::memory_order_acquire); r != nullptr; r = r->next) {
            if (r->empty()) continue;
            batch_.clear();
            // A line truncated by a full disk must not run into the next one.
            if (output_.torn()) batch_ += '\n';
            const std::size_t begin = batch_.size();
            r->take(batch_);
            output_.write(batch_, begin);
        }
    }

    line_file_options options_;
    threaded_output output_;
    std::string batch_;
    std::atomic<line_ring*> rings_{nullptr};
    futex doing_{writing};
    std::atomic<bool> stop_{false};
    std::atomic<bool> reopen_asked_{false};
    std::atomic<std::uint32_t> flush_asked_{0};
    futex flushed_{0};
    std::atomic<std::uint64_t> homeless_{0};  ///< lines of threads without a buffer
    std::thread thread_;
};

}  // namespace

std::unique_ptr<line_writer> make_threaded_line_writer(std::string path,
                                                       line_file_options options) {
    return std::make_unique<threaded_line_writer>(std::move(path), options);
}

}  // namespace coracle::fs::detail
