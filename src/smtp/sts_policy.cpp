#include "base/ascii.hpp"
#include "connect/names.hpp"

#include <coracle/smtp/sts_policy.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace coracle::smtp {
namespace {

using coracle::detail::is_digit;
using coracle::detail::is_letter;
using coracle::detail::take_item;
using coracle::detail::trim_blanks;

/// RFC 8461 section 3.2 allows no more than this, about a year.
constexpr std::int64_t longest_age = 31'557'600;

std::unexpected<error> bad(std::string_view what) {
    return std::unexpected(error(std::errc::invalid_argument, "sts policy").on(what));
}

/// A name of A-labels, "*." allowed in front.
bool is_pattern(std::string_view text) noexcept {
    if (text.starts_with("*.")) text.remove_prefix(2);
    if (text.empty() || text.size() > 253 || text.find('.') == std::string_view::npos) return false;
    while (!text.empty()) {
        const bool more = text.find('.') != std::string_view::npos;
        const std::string_view label = take_item(text, '.');
        if (label.empty() || label.size() > 63 || (more && text.empty())) return false;
        const auto fits = [](char c) { return is_letter(c) || is_digit(c) || c == '-'; };
        if (!std::ranges::all_of(label, fits)) return false;
    }
    return true;
}

std::optional<std::int64_t> read_age(std::string_view text) noexcept {
    // RFC 8461 section 3.2: 1 to 10 digits.
    if (text.empty() || text.size() > 10 || !std::ranges::all_of(text, is_digit)) return {};
    std::int64_t age = 0;
    std::from_chars(text.data(), text.data() + text.size(), age);
    return std::min(age, longest_age);
}

std::optional<sts_mode> read_mode(std::string_view text) noexcept {
    if (text == "enforce") return sts_mode::enforce;
    if (text == "testing") return sts_mode::testing;
    if (text == "none") return sts_mode::none;
    return {};
}

/// Adds what the lines say one after the other.
class policy_reader {
public:
    explicit policy_reader(sts_policy& into) noexcept : policy_(into) {}

    std::expected<void, error> line(std::string_view text) {
        if (text.ends_with('\r')) text.remove_suffix(1);
        if (trim_blanks(text).empty()) return {};
        const std::size_t colon = text.find(':');
        if (colon == std::string_view::npos) return bad("a line without a colon");
        const std::string_view key = trim_blanks(text.substr(0, colon));
        const std::string_view value = trim_blanks(text.substr(colon + 1));
        if (key == "version") return version(value);
        if (key == "mode") return mode(value);
        if (key == "max_age") return age(value);
        if (key == "mx") return pattern(value);
        return {};
    }

    std::expected<void, error> end() const {
        if (!has_version_) return bad("version is missing");
        if (!has_mode_) return bad("mode is missing");
        if (!has_age_) return bad("max_age is missing");
        if (policy_.mode != sts_mode::none && policy_.mx.empty()) return bad("mx is missing");
        return {};
    }

private:
    std::expected<void, error> version(std::string_view value) {
        if (!std::exchange(has_version_, true) && value != "STSv1") return bad("version");
        return {};
    }
    std::expected<void, error> mode(std::string_view value) {
        if (std::exchange(has_mode_, true)) return {};
        const auto read = read_mode(value);
        if (!read) return bad("mode");
        policy_.mode = *read;
        return {};
    }
    std::expected<void, error> age(std::string_view value) {
        if (std::exchange(has_age_, true)) return {};
        const auto read = read_age(value);
        if (!read) return bad("max_age");
        policy_.max_age = std::chrono::seconds(*read);
        return {};
    }
    std::expected<void, error> pattern(std::string_view value) {
        if (!is_pattern(value) || policy_.mx.size() == sts_policy::most_patterns) return bad("mx");
        policy_.mx.push_back(coracle::detail::lower(value));
        return {};
    }

    sts_policy& policy_;
    bool has_version_ = false;
    bool has_mode_ = false;
    bool has_age_ = false;
};

}  // namespace

std::expected<sts_policy, error> sts_policy::parse(std::string_view text, std::int64_t fetched) {
    if (text.size() > most_bytes) return bad("it is too long");
    sts_policy policy;
    policy.fetched = fetched;
    policy_reader reader(policy);
    while (!text.empty()) {
        if (auto read = reader.line(take_item(text, '\n')); !read) {
            return std::unexpected(std::move(read).error());
        }
    }
    if (auto whole = reader.end(); !whole) return std::unexpected(std::move(whole).error());
    return policy;
}

bool sts_policy::allows(std::string_view host) const noexcept {
    if (host.ends_with('.')) host.remove_suffix(1);
    return std::ranges::any_of(mx, [host](std::string_view pattern) {
        if (!pattern.starts_with("*.")) return connect::same_name(pattern, host);
        // RFC 6125 section 6.4.3: "*" is one label, and a whole one.
        const std::size_t dot = host.find('.');
        return dot != 0 && dot != std::string_view::npos &&
               connect::same_name(pattern.substr(1), host.substr(dot));
    });
}

bool sts_policy::holds(std::int64_t unix_time) const noexcept {
    return fetched == 0 || unix_time - fetched < max_age.count();
}

}  // namespace coracle::smtp
