#include "http/files/range.hpp"

#include "http/message/token.hpp"

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace coracle::http::detail {
namespace {

constexpr byte_range whole{};

bool is_digits(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A number that is too large for us is larger than any file.
std::uint64_t saturated(std::string_view digits) noexcept {
    std::uint64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return read.ec == std::errc() ? value : std::numeric_limits<std::uint64_t>::max();
}

// The value of the one Range field, behind "bytes="; empty when there is no such thing.
std::string_view byte_specification(const fields& all) noexcept {
    constexpr std::string_view unit = "bytes=";
    const field* only = nullptr;
    for (const field& f : all) {
        if (f.id != field_id::range) continue;
        if (only != nullptr) return {};
        only = &f;
    }
    if (only == nullptr) return {};
    const std::string_view value = trim_ows(only->value);
    if (!equal_ignoring_case(value.substr(0, unit.size()), unit)) return {};
    return trim_ows(value.substr(unit.size()));
}

byte_range part(std::uint64_t first, std::uint64_t last, std::uint64_t size) noexcept {
    if (last >= size) last = size - 1;
    return {byte_range::result::part, first, last - first + 1};
}

}  // namespace

byte_range requested_range(const fields& all, std::uint64_t size) noexcept {
    const std::string_view text = byte_specification(all);
    const std::size_t dash = text.find('-');
    if (size == 0 || dash == std::string_view::npos) return whole;
    const std::string_view from = text.substr(0, dash);
    const std::string_view to = text.substr(dash + 1);
    if (!(from.empty() || is_digits(from)) || !(to.empty() || is_digits(to))) return whole;
    if (from.empty() && to.empty()) return whole;

    if (from.empty()) {  // the last n bytes
        const std::uint64_t count = saturated(to);
        if (count == 0) return {byte_range::result::unsatisfiable};
        return part(count < size ? size - count : 0, size - 1, size);
    }
    const std::uint64_t first = saturated(from);
    const std::uint64_t last =
        to.empty() ? std::numeric_limits<std::uint64_t>::max() : saturated(to);
    if (last < first) return whole;
    if (first >= size) return {byte_range::result::unsatisfiable};
    return part(first, last, size);
}

}  // namespace coracle::http::detail
