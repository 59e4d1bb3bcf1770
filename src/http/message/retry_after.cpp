#include "http/message/retry_after.hpp"

#include "http/message/date.hpp"

#include <algorithm>
#include <charconv>

namespace coracle::http {

std::optional<std::chrono::seconds> parse_retry_after(std::string_view text,
                                                      std::int64_t now) noexcept {
    constexpr std::int64_t most = std::chrono::seconds(std::chrono::years(10)).count();
    const char* const all = text.data() + text.size();
    std::int64_t seconds = 0;
    const auto [end, failure] = std::from_chars(text.data(), all, seconds);
    if (failure == std::errc::result_out_of_range) {
        seconds = text.front() == '-' ? 0 : most;
    } else if (failure != std::errc() || end != all) {
        const auto date = parse_http_date(text);
        if (!date) return std::nullopt;
        seconds = *date - now;
    }
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, most));
}

}  // namespace coracle::http
