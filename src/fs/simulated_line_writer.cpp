// The lines of a simulated world: no thread, and no time that writing takes.

#include "fs/line_output.hpp"
#include "fs/line_writer.hpp"

#include <coracle/runtime/file_operation.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/task.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace coracle::fs::detail {
namespace {

// Fails where the simulation has ended: its files are gone.
std::int64_t perform_here(file_operation& op) noexcept {
    loop* const here = loop::current();
    if (here == nullptr || here->backend().is_of_the_system()) return -EBADF;
    op.at_once = true;
    return here->backend().submit(op) ? op.result : -EIO;
}

class simulated_output final : public line_output {
public:
    using line_output::line_output;
    ~simulated_output() override { close(); }

    int open() noexcept override {
        file_operation op(file_action::open, nullptr);
        op.fd = AT_FDCWD;
        op.path = path().c_str();
        op.flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
        op.mode = 0640;
        std::int64_t opened = -EINTR;
        while (opened == -EINTR) opened = perform_here(op);
        if (opened < 0) return static_cast<int>(-opened);
        close();
        fd_ = static_cast<int>(opened);
        const std::uint64_t number = number_of(fd_);
        if (std::exchange(number_, number) != number) begins_other_file();
        return 0;
    }

private:
    static std::uint64_t number_of(int fd) noexcept {
        file_status found;
        file_operation op(file_action::status, nullptr);
        op.fd = fd;
        op.flags = AT_EMPTY_PATH;
        op.status = &found;
        return perform_here(op) == 0 ? found.inode : 0;
    }

    std::int64_t write_some(std::string_view text) noexcept override {
        slice piece(text);
        file_operation op(file_action::write, nullptr);
        op.fd = fd_;
        op.pieces = {&piece, 1};
        op.offset = file_operation::no_offset;
        return perform_here(op);
    }

    void close() noexcept {
        if (fd_ < 0) return;
        file_operation op(file_action::close, nullptr);
        op.fd = std::exchange(fd_, -1);
        static_cast<void>(perform_here(op));
    }

    int fd_ = -1;
    std::uint64_t number_ = 0;  ///< of the file
};

struct held_lines {
    held_lines(std::string path, const line_file_options& options)
        : output(std::move(path), options.log), most(options.buffer) {
        // Reserves space for the line feed after a torn line as well: nothing is allocated later.
        waiting.reserve(most + 1);
    }

    void write_all() noexcept {
        if (waiting.empty()) return;
        const std::size_t begin = output.torn() ? 1 : 0;
        waiting.insert(0, begin, '\n');
        output.write(waiting, begin);
        waiting.clear();
    }

    simulated_output output;
    const std::size_t most;
    std::string waiting;
    bool has_writer = false;  ///< a task that will write
};

/// Writes when it is destroyed, also by the end of the simulation.
class writing_later {
public:
    explicit writing_later(std::weak_ptr<held_lines> lines) noexcept : lines_(std::move(lines)) {}
    writing_later(const writing_later&) = delete;
    writing_later& operator=(const writing_later&) = delete;
    ~writing_later() {
        const auto lines = lines_.lock();
        if (lines == nullptr) return;
        lines->has_writer = false;
        lines->write_all();
    }

private:
    std::weak_ptr<held_lines> lines_;
};

task<> write_later(std::weak_ptr<held_lines> lines, duration after) {
    const writing_later at_the_end(std::move(lines));
    co_await sleep_for(after);
}

class simulated_line_writer final : public line_writer {
public:
    simulated_line_writer(std::string path, const line_file_options& options)
        : flush_after_(options.flush_after),
          lines_(std::make_shared<held_lines>(std::move(path), options)) {
        if (const int number = lines_->output.open(); number != 0)
            lines_->output.throw_open_failed(number);
    }
    ~simulated_line_writer() override { lines_->write_all(); }

    bool add(std::string_view line) noexcept override {
        if (line.size() > lines_->most) {
            ++counters_.dropped;
            return false;
        }
        // A full buffer wakes the thread that is played here.
        if (lines_->waiting.size() + line.size() > lines_->most) lines_->write_all();
        lines_->waiting += line;
        ++counters_.lines;
        begin_writing();
        return true;
    }

    void reopen() noexcept override {
        lines_->write_all();
        lines_->output.open_again();
    }

    bool flush(duration) override {
        lines_->write_all();
        return true;
    }

    line_file_counters counters() const noexcept override {
        line_file_counters c = counters_;
        lines_->output.add_to(c);
        return c;
    }

private:
    void begin_writing() noexcept {
        if (lines_->has_writer || loop::current() == nullptr) return;
        const std::weak_ptr<held_lines> lines = lines_;
        try {
            // It may end at once, and says so then.
            lines_->has_writer = true;
            spawn([lines, after = flush_after_] { return write_later(lines, after); },
                  "lines to the disk");
        } catch (const std::bad_alloc&) {
            lines_->has_writer = false;
            lines_->write_all();
        }
    }

    const duration flush_after_;
    const std::shared_ptr<held_lines> lines_;
    line_file_counters counters_;
};

}  // namespace

std::unique_ptr<line_writer> make_simulated_line_writer(std::string path,
                                                        line_file_options options) {
    return std::make_unique<simulated_line_writer>(std::move(path), options);
}

}  // namespace coracle::fs::detail
