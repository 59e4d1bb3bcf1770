#include "span_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace coracle::tool::bench {
namespace {

struct unit {
    std::string_view name;
    double seconds;
};
constexpr std::array<unit, 6> units{
    {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"", 1}}};

}  // namespace

std::optional<duration> read_span(std::string_view text) {
    constexpr double most = 3600.0 * 1000;
    double n = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, n, std::chars_format::fixed);
    if (fault != std::errc()) return {};
    const std::string_view rest(stop, static_cast<std::size_t>(end - stop));
    for (const unit& u : units) {
        if (rest != u.name) continue;
        const double seconds = n * u.seconds;
        if (!(seconds >= 0 && seconds <= most)) return {};
        return duration(std::llround(seconds * 1e9));
    }
    return {};
}

std::string number_text(double n) {
    std::array<char, 48> text;
    int digits = 0;
    if (n < 99.95) digits = 1;
    if (n < 9.995) digits = 2;
    if (n < 0.9995) digits = 3;
    std::snprintf(text.data(), text.size(), "%.*f", digits, n);
    return text.data();
}

std::string latency_text(std::uint64_t nanoseconds) {
    const auto n = static_cast<double>(nanoseconds);
    if (n < 999'500) return number_text(n / 1e3) + " us";
    if (n < 999.5e6) return number_text(n / 1e6) + " ms";
    return number_text(n / 1e9) + " s";
}

std::string count_text(std::uint64_t n) {
    std::string text = std::to_string(n);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
    return text;
}

std::string span_text(duration d) {
    const double seconds = std::chrono::duration<double>(d).count();
    std::array<char, 48> text;
    const bool minutes = seconds >= 120 && std::fmod(seconds, 60) == 0;
    if (minutes) {
        std::snprintf(text.data(), text.size(), "%g min", seconds / 60);
    } else if (seconds < 1 && seconds > 0) {
        std::snprintf(text.data(), text.size(), "%.3g ms", seconds * 1000);
    } else {
        std::snprintf(text.data(), text.size(), "%.4g s", seconds);
    }
    return text.data();
}

}  // namespace coracle::tool::bench
