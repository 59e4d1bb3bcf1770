#include "live_display.hpp"

#include "figures/span_text.hpp"
#include "progress_display.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace coracle::tool::bench {
namespace {

std::size_t columns() noexcept {
    winsize w{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1;
    return known ? w.ws_col : 80;
}

void put(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

/// Responses a second in about the last second.
double rate_lately(const timeline& line) {
    const auto& all = line.intervals();
    // The last one is not whole yet.
    if (all.size() < 2) return 0;
    const std::size_t whole = all.size() - 1;
    const auto in_a_second = std::max<std::int64_t>(std::chrono::seconds(1) / line.length(), 1);
    const std::size_t n = std::min(whole, static_cast<std::size_t>(in_a_second));
    std::uint64_t responses = 0;
    for (std::size_t i = whole - n; i != whole; ++i) responses += all[i].responses;
    const duration passed = line.length() * static_cast<std::int64_t>(n);
    return static_cast<double>(responses) / std::chrono::duration<double>(passed).count();
}

std::string bar(double part) {
    constexpr std::size_t inside = 20;
    const auto full = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * inside);
    std::string text = "[" + std::string(full, '=') + std::string(inside - full, ' ') + "]";
    if (full != 0 && full != inside) text[full] = '>';
    return text;
}

std::string latencies(const histogram& h,
                      std::initializer_list<std::pair<const char*, double>> all) {
    std::string text;
    for (const auto& [name, share] : all) {
        text.append("  ").append(name).append(" ");
        text += h.count() == 0 ? "-" : latency_text(h.percentile(share));
    }
    return text + "  max " + (h.count() == 0 ? "-" : latency_text(h.max()));
}

std::string errors_text(const counts& c) {
    const std::uint64_t n = c.failed();
    if (n == 0) return "no errors";
    return count_text(n) + (n == 1 ? " error" : " errors");
}

/// How far the run has come, from 0 to 1.
double part_of(const load_plan& plan, const counts& total, double passed) {
    if (plan.requests != 0) {
        return static_cast<double>(total.responses() + total.failed()) /
               static_cast<double>(plan.requests);
    }
    return passed / std::chrono::duration<double>(plan.length).count();
}

}  // namespace

live_display::manner live_display::manner_of_standard_error(bool silent) noexcept {
    if (silent) return manner::silent;
    const char* const term = std::getenv("TERM");
    const bool dumb = term == nullptr || std::string_view(term) == "dumb";
    return ::isatty(STDERR_FILENO) != 0 && !dumb ? manner::terminal : manner::lines;
}

void live_display::begin(std::string title) {
    clear();
    said_ = 0;
    title_ = std::move(title);
}

void live_display::draw(const shared_run& run, const measured_span& span, time_point now) {
    if (manner_ == manner::silent) return;
    const load_plan& plan = run.plan();
    if (span.from == time_point()) {
        if (manner_ == manner::terminal) {
            draw_lines(title_ + "connecting: " + count_text(run.ready()) + " of " +
                           count_text(plan.lanes()),
                       "");
        }
        return;
    }
    if (now < span.from) {
        if (manner_ == manner::terminal) draw_lines(title_ + "warming up", "");
        return;
    }
    const double passed = std::chrono::duration<double>(now - span.from).count();
    run.look([&](const counts& total, const timeline& line) {
        const std::string rate = number_text(rate_lately(line)) + "/s";
        if (manner_ == manner::lines) {
            const auto second = static_cast<std::uint64_t>(passed);
            const auto whole = std::chrono::duration<double>(plan.length).count();
            const auto step = std::max<std::uint64_t>(static_cast<std::uint64_t>(whole / 10), 1);
            if (second == 0 || second < said_ + step) return;
            said_ = second;
            put(title_ + std::to_string(second) + " s: " + rate +
                latencies(total.latency, {{"p50", 0.5}, {"p99", 0.99}}) + "  " +
                errors_text(total) + "\n");
            return;
        }
        const double part = part_of(plan, total, passed);
        const std::string time = clock_text(passed);
        draw_lines(
            title_ + bar(part) + " " + time + "  " + rate + "  " + count_text(total.responses()) +
                " responses  " + errors_text(total),
            "latency" + latencies(total.latency,
                                  {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}}));
    });
}

void live_display::draw_lines(const std::string& first, const std::string& second) {
    const std::size_t width = columns() - 1;
    std::string text = drawn_ == 0 ? "" : "\r\x1b[" + std::to_string(drawn_) + "A\x1b[J";
    text += first.substr(0, width) + '\n';
    drawn_ = 1;
    if (!second.empty()) {
        text += second.substr(0, width) + '\n';
        drawn_ = 2;
    }
    put(text);
}

void live_display::clear() {
    if (drawn_ == 0) return;
    put("\r\x1b[" + std::to_string(drawn_) + "A\x1b[J");
    drawn_ = 0;
}

void live_display::say(const std::string& line) {
    clear();
    if (manner_ != manner::silent) put(line + "\n");
}

}  // namespace coracle::tool::bench
