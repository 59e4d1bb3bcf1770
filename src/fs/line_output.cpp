#include "fs/line_output.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace coracle::fs::detail {

bool is_standard_output(const std::string& path) noexcept {
    return path.empty() || path == "-";
}

error line_output::failure_of(int number, const char* what) const {
    error e(std::error_code(number, std::generic_category()), what);
    e.on(path_);
    return e;
}

void line_output::throw_open_failed(int number) const {
    throw_exception(failure_of(number, "open"));
}

// Reports once, until it works again.
void line_output::complain(const char* what, int number) noexcept {
    errors_.fetch_add(1, std::memory_order_relaxed);
    if (!std::exchange(healthy_, false)) return;
    const logger& log = log_ != nullptr ? *log_ : own_log_;
    try {
        log.write(log_layer::net, log_level::error, failure_of(number, what).message());
    } catch (const std::bad_alloc&) {
        healthy_ = true;  // the next failure is told
    }
}

void line_output::open_again() noexcept {
    if (is_standard_output(path_)) return;
    if (const int number = open(); number != 0) return complain("open", number);
    healthy_ = true;
    reopened_.fetch_add(1, std::memory_order_relaxed);
}

void line_output::write(std::string_view text, std::size_t begin) noexcept {
    std::size_t done = 0;
    while (done != text.size()) {
        const std::int64_t n = write_some(text.substr(done));
        if (n == 0) break;
        if (n > 0) {
            done += static_cast<std::size_t>(n);
        } else if (n != -EINTR && n != -EAGAIN) {
            complain("write", static_cast<int>(-n));
            break;
        }
    }
    bytes_.fetch_add(done, std::memory_order_relaxed);
    if (done != 0) torn_ = text[done - 1] != '\n';
    if (done == text.size()) {
        healthy_ = true;
        return;
    }
    const std::string_view rest = text.substr(std::max(done, begin));
    lost_.fetch_add(static_cast<std::uint64_t>(std::count(rest.begin(), rest.end(), '\n')),
                    std::memory_order_relaxed);
}

void line_output::add_to(line_file_counters& c) const noexcept {
    c.dropped += lost_.load(std::memory_order_relaxed);
    c.bytes += bytes_.load(std::memory_order_relaxed);
    c.errors += errors_.load(std::memory_order_relaxed);
    c.reopened += reopened_.load(std::memory_order_relaxed);
}

}  // namespace coracle::fs::detail
