// Small texts of requests and responses, which all are read from the whole input: dates, ranges,
// waits, weights, preferences, and paths. Checked: what is read is within its bounds, and what is
// written from it is read as the same.
#include "http/coding/accept_encoding.hpp"
#include "http/files/acceptable.hpp"
#include "http/files/file_path.hpp"
#include "http/message/date.hpp"
#include "http/message/ranges.hpp"
#include "http/message/retry_after.hpp"
#include "http/message/token.hpp"
#include "http/message/weight.hpp"
#include "http/server/canonical_path.hpp"
#include "require.hpp"

#include <coracle/base/arena.hpp>
#include <coracle/http/content_range.hpp>
#include <coracle/http/date.hpp>
#include <coracle/http/fields.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::http;
using namespace coracle::http::detail;

namespace {

constexpr std::int64_t year_1601 = -11'644'473'600;
constexpr std::int64_t year_10000 = 253'402'300'800;

void check_dates(std::string_view text) {
    // A text that is written ends with the year 9999, which has a leap second here.
    if (const auto t = parse_http_date(text); t && *t < year_10000) {
        const std::chrono::sys_seconds time{std::chrono::seconds(*t)};
        require(parse_http_date(format_http_date(time)) == t);
    }
    if (const auto t = parse_cookie_date(text)) require(*t >= year_1601 && *t < year_10000);
    constexpr std::int64_t now = 1'900'000'000;
    if (const auto wait = parse_retry_after(text, now)) {
        require(wait->count() >= 0 && *wait <= std::chrono::hours(24 * 366 * 10));
    }
}

void check_ranges(std::string_view text) {
    for (const std::uint64_t size :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
        const range_plan plan = parse_ranges(text, size);
        require((plan.what == range_plan::result::parts) == (plan.count != 0));
        require(plan.count <= range_plan::most);
        std::uint64_t all = 0;
        for (const auto& part : plan.parts()) {
            require(part.first <= part.last && part.last < size);
            require(part.size() <= size - all);
            all += part.size();
        }
        for (std::size_t i = 0; i != plan.count; ++i) {
            for (std::size_t k = 0; k != i; ++k) {
                const auto& a = plan.list[i];
                const auto& b = plan.list[k];
                require(a.last < b.first || b.last < a.first);
            }
        }
    }
    static_cast<void>(http::parse_content_range(text));
}

void check_preferences(std::string_view text) {
    if (const auto w = read_weight(text)) require(*w >= 0 && *w <= 1000);
    if (!is_field_value(text)) return;
    fields all;
    all.add("Accept-Encoding", text);
    all.add("Accept", text);
    const content_coding offered[] = {content_coding::brotli, content_coding::gzip};
    const content_coding chosen = negotiate_coding(all, offered);
    require(chosen == content_coding::identity || std::ranges::count(offered, chosen) == 1);
    const coding_choice choice = acceptable_codings(all);
    for (const content_coding c : choice.list()) {
        require(std::ranges::count(choice.list(), c) == 1);
    }
    static_cast<void>(names_html(all));
    static_cast<void>(prefers_json(all));
}

bool has_segment(std::string_view path, std::string_view segment) {
    const std::string framed = '/' + std::string(path) + '/';
    return framed.find('/' + std::string(segment) + '/') != std::string::npos;
}

void check_paths(std::string_view text) {
    arena memory;
    const auto path = canonical_path(text, memory);
    if (path && text.starts_with('/')) {
        require(path->starts_with('/'));
        require(!has_segment(*path, "..") && !has_segment(*path, "."));
        const std::string_view relative = path->substr(1);
        if (is_safe_file_path(relative, true)) {
            require(relative.find("%2F") == std::string_view::npos);
            require(relative.find('\\') == std::string_view::npos);
            require(relative.find('\0') == std::string_view::npos);
            require(!relative.starts_with('/'));
        }
    }
    if (is_safe_file_path(text, false)) {
        require(!has_segment(text, "..") && !has_segment(text, "."));
        require(!text.starts_with('/') && text.find("/.") == std::string_view::npos);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 1024) return 0;
    const std::string text(reinterpret_cast<const char*>(data), size);
    check_dates(text);
    check_ranges(text);
    check_preferences(text);
    check_paths(text);
    return 0;
}
