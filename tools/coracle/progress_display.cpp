#include "progress_display.hpp"

#include <coracle/base/printable.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace coracle::tool {
namespace {

constexpr duration redraw_period = std::chrono::milliseconds(100);
constexpr std::size_t name_width = 22;
constexpr std::size_t most_width = 120;

struct terminal_size {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

terminal_size size_of_terminal() noexcept {
    winsize w{};
    terminal_size s;
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col != 0 && w.ws_row != 0) {
        s = {w.ws_col, w.ws_row};
    }
    return s;
}

void put(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

std::string padded(std::string text, std::size_t width, bool right) {
    if (text.size() < width) text.insert(right ? 0 : text.size(), width - text.size(), ' ');
    return text;
}

double seconds_between(time_point a, time_point b) {
    return std::chrono::duration<double>(b - a).count();
}

/// The rate of the last moments: what is older than about three seconds hardly counts.
void measure(transfer_progress& t, time_point now) {
    const double passed = seconds_between(t.seen_at, now);
    if (passed <= 0) return;
    const double lately = static_cast<double>(t.there - t.seen) / passed;
    const bool first = t.seen_at == t.begun;
    const double weight = first ? 1 : 1 - std::exp(-passed / 3);
    t.rate += (lately - t.rate) * weight;
    t.seen = t.there;
    t.seen_at = now;
}

std::string bar(double part, std::size_t width) {
    if (width < 4) return {};
    const auto inside = width - 2;
    const auto full =
        static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(inside));
    std::string text = "[" + std::string(full, '=') + std::string(inside - full, ' ') + "]";
    if (full != 0 && full != inside) text[full] = '>';
    return text;
}

/// "name [====>    ]  42%   12.3 MiB   5.1 MiB/s  0:12 left"
std::string progress_line(std::string_view name, std::uint64_t there,
                          std::optional<std::uint64_t> size, double rate, std::size_t width) {
    std::string numbers;
    double part = 0;
    if (size) {
        part = *size == 0 ? 1 : static_cast<double>(there) / static_cast<double>(*size);
        numbers =
            padded(std::to_string(static_cast<int>(std::min(part, 1.0) * 100)), 4, true) + '%';
    }
    numbers += padded(size_text(static_cast<double>(there)), 11, true);
    numbers += padded(size_text(rate) + "/s", 13, true);
    if (size && rate >= 1 && *size >= there) {
        const double left = static_cast<double>(*size - there) / rate;
        numbers += padded(clock_text(left), 8, true) + " left";
    }
    std::string text = padded(printable(name, name_width), name_width, false) + ' ';
    // The bar leaves space for the longest numbers, so that it does not jump.
    constexpr std::size_t longest_numbers = 5 + 11 + 13 + 13;
    if (size && width > text.size() + longest_numbers + 6) {
        text += bar(part, width - text.size() - longest_numbers - 1);
    }
    return (text + numbers).substr(0, width);
}

}  // namespace

std::string size_text(double bytes) {
    constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    std::size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text.data();
}

std::string clock_text(double seconds) {
    // No longer time is shown.
    const auto all = static_cast<std::uint64_t>(std::min(seconds, 359'999.0));
    std::array<char, 32> text;
    const auto hours = static_cast<unsigned>(all / 3600);
    const auto minutes = static_cast<unsigned>(all / 60 % 60);
    const auto rest = static_cast<unsigned>(all % 60);
    if (hours != 0) {
        std::snprintf(text.data(), text.size(), "%u:%02u:%02u", hours, minutes, rest);
    } else {
        std::snprintf(text.data(), text.size(), "%u:%02u", minutes, rest);
    }
    return text.data();
}

std::string printable(std::string_view text, std::size_t width) {
    std::string clean;
    while (!text.empty()) {
        const std::size_t n = printable_character_size(text);
        clean += n == 0 ? "?" : text.substr(0, n);
        text.remove_prefix(std::max<std::size_t>(n, 1));
    }
    if (clean.size() <= width) return clean;
    std::size_t from = clean.size() - (width - 3);
    // Not in the middle of a character.
    while (from != clean.size() && (static_cast<unsigned char>(clean[from]) & 0xC0U) == 0x80U)
        ++from;
    return "..." + clean.substr(from);
}

void progress_display::begin(transfer_progress& t, time_point now) {
    t.begun = t.seen_at = now;
    t.seen = t.there;
    active_.push_back(&t);
}

void progress_display::end(transfer_progress& t) {
    std::erase(active_, &t);
    ++done_;
    done_bytes_ += t.there - t.earlier;
}

std::string progress_display::line(const transfer_progress& t, std::size_t width) const {
    return progress_line(t.name, t.there, t.size, t.rate, width);
}

std::string progress_display::total_line(std::size_t width) const {
    std::uint64_t there = done_bytes_;
    std::uint64_t left = 0;
    double rate = 0;
    // The time for the rest is known when each of them has begun and has a size.
    bool known = done_ + active_.size() == files_;
    for (const transfer_progress* t : active_) {
        there += t->there - t->earlier;
        rate += t->rate;
        known = known && t->size;
        if (t->size && *t->size > t->there) left += *t->size - t->there;
    }
    const std::string name = std::to_string(done_) + " of " + std::to_string(files_) + " done";
    std::optional<std::uint64_t> size;
    if (known) size = there + left;
    return progress_line(name, there, size, rate, width);
}

void progress_display::draw(time_point now) {
    if (!bars_ || (drawn_ != 0 && now - drawn_at_ < redraw_period)) return;
    const terminal_size s = size_of_terminal();
    const std::size_t width = std::min(s.columns - 1, most_width);
    const std::size_t most = s.rows > 4 ? s.rows - 3 : 1;
    std::string text = drawn_ == 0 ? "" : "\r\x1b[" + std::to_string(drawn_) + "A\x1b[J";
    std::size_t lines = 0;
    for (transfer_progress* t : active_) {
        measure(*t, now);
        if (lines == most) continue;
        text += line(*t, width) + '\n';
        ++lines;
    }
    if (files_ > 1) {
        text += total_line(width) + '\n';
        ++lines;
    }
    drawn_ = lines;
    drawn_at_ = now;
    put(text);
}

void progress_display::say(std::string_view lines) {
    clear();
    put(lines);
}

void progress_display::clear() {
    if (drawn_ == 0) return;
    put("\r\x1b[" + std::to_string(drawn_) + "A\x1b[J");
    drawn_ = 0;
}

}  // namespace coracle::tool
