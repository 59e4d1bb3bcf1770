#include "http/message/ranges.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/http/fields.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace coracle::http::detail {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

bool is_digits(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A number that is too large for us is larger than any representation.
std::uint64_t saturated(std::string_view digits) noexcept {
    std::uint64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return read.ec == std::errc() ? value : no_limit;
}

enum class verdict : std::uint8_t { good, beyond, malformed };

// One range-spec (RFC 9110 section 14.1.1).
verdict read_range(std::string_view text, std::uint64_t size, content_range& out) noexcept {
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return verdict::malformed;
    const std::string_view from = text.substr(0, dash);
    const std::string_view to = text.substr(dash + 1);
    if (!(to.empty() || is_digits(to))) return verdict::malformed;
    if (from.empty()) {  // the last n bytes
        if (to.empty()) return verdict::malformed;
        const std::uint64_t count = saturated(to);
        if (count == 0) return verdict::beyond;
        out = {count < size ? size - count : 0, size - 1};
        return verdict::good;
    }
    if (!is_digits(from)) return verdict::malformed;
    const std::uint64_t first = saturated(from);
    const std::uint64_t last = to.empty() ? no_limit : saturated(to);
    if (last < first) return verdict::malformed;
    if (first >= size) return verdict::beyond;
    out = {first, std::min(last, size - 1)};
    return verdict::good;
}

bool overlap(const content_range& a, const content_range& b) noexcept {
    return a.first <= b.last && b.first <= a.last;
}

// Returns true if the gap between the two, if there is one, is smaller than the head of a part.
bool nearly_touch(const content_range& a, const content_range& b) noexcept {
    if (overlap(a, b)) return true;
    const std::uint64_t gap = a.first > b.last ? a.first - b.last - 1 : b.first - a.last - 1;
    return gap < range_plan::least_gap;
}

std::size_t count_overlaps(const range_plan& plan) noexcept {
    std::size_t overlaps = 0;
    for (std::size_t i = 1; i < plan.count; ++i) {
        const auto before = plan.parts().first(i);
        overlaps += std::ranges::any_of(
            before, [&](const content_range& other) { return overlap(other, plan.list[i]); });
    }
    return overlaps;
}

// Joins part `at` with later ones that it reaches; true if there was one.
bool join_with_later(range_plan& plan, std::size_t at) noexcept {
    for (std::size_t i = at + 1; i < plan.count; ++i) {
        if (!nearly_touch(plan.list[at], plan.list[i])) continue;
        plan.list[at] = {std::min(plan.list[at].first, plan.list[i].first),
                         std::max(plan.list[at].last, plan.list[i].last)};
        std::move(plan.list + i + 1, plan.list + plan.count, plan.list + i);
        --plan.count;
        return true;
    }
    return false;
}

void join(range_plan& plan) noexcept {
    // A part that has grown may reach one that stands before it: until nothing changes.
    for (bool joined = true; joined;) {
        joined = false;
        for (std::size_t at = 0; at < plan.count; ++at) {
            while (join_with_later(plan, at)) joined = true;
        }
    }
}

// Reads the members of the list; false when the field is to be ignored.
bool read_list(std::string_view list, std::uint64_t size, range_plan& plan) noexcept {
    std::size_t members = 0;
    for (;;) {
        const std::size_t comma = list.find(',');
        const std::string_view member = trim_ows(list.substr(0, comma));
        if (!member.empty()) {  // RFC 9110 section 5.6.1.2: empty members are ignored
            if (++members > range_plan::most) return false;
            const verdict read = read_range(member, size, plan.list[plan.count]);
            if (read == verdict::malformed) return false;
            if (read == verdict::good) ++plan.count;
        }
        if (comma == std::string_view::npos) return members != 0;
        list.remove_prefix(comma + 1);
    }
}

std::size_t decimal_size(std::uint64_t value) noexcept {
    std::size_t size = 1;
    while (value >= 10) {
        value /= 10;
        ++size;
    }
    return size;
}

constexpr std::string_view type_line = "Content-Type: ";
constexpr std::string_view range_line = "Content-Range: bytes ";

}  // namespace

std::string to_content_range(const content_range& part, std::uint64_t size) {
    std::string text = "bytes ";
    text += std::to_string(part.first);
    text += '-';
    text += std::to_string(part.last);
    text += '/';
    text += std::to_string(size);
    return text;
}

std::string to_unsatisfied_range(std::uint64_t size) {
    return "bytes */" + std::to_string(size);
}

range_plan parse_ranges(std::string_view value, std::uint64_t size) noexcept {
    constexpr std::string_view unit = "bytes=";
    const range_plan whole;
    value = trim_ows(value);
    if (size == 0 || !equal_ignoring_case(value.substr(0, unit.size()), unit)) return whole;
    range_plan plan;
    if (!read_list(value.substr(unit.size()), size, plan)) return whole;
    if (plan.count == 0) {
        plan.what = range_plan::result::unsatisfiable;
        return plan;
    }
    if (count_overlaps(plan) > range_plan::most_overlaps) return whole;
    join(plan);
    plan.what = range_plan::result::parts;
    return plan;
}

range_plan requested_ranges(const fields& all, std::uint64_t size) noexcept {
    const field* only = nullptr;
    for (const field& f : all) {
        if (f.id != field_id::range) continue;
        if (only != nullptr) return {};
        only = &f;
    }
    return only == nullptr ? range_plan() : parse_ranges(only->value, size);
}

std::string multipart_byteranges::content_type() const {
    return "multipart/byteranges; boundary=" + std::string(boundary_);
}

std::string multipart_byteranges::part_head(std::size_t part) const {
    std::string head = part == 0 ? "--" : "\r\n--";
    head += boundary_;
    head += "\r\n";
    if (!media_type_.empty()) {
        head += type_line;
        head += media_type_;
        head += "\r\n";
    }
    head += "Content-Range: ";
    head += to_content_range(parts_[part], size_);
    head += "\r\n\r\n";
    return head;
}

std::string multipart_byteranges::end() const {
    return "\r\n--" + std::string(boundary_) + "--\r\n";
}

std::uint64_t multipart_byteranges::total_size() const noexcept {
    std::uint64_t total = boundary_.size() + 8;  // the end
    for (std::size_t i = 0; i != parts_.size(); ++i) {
        const content_range& part = parts_[i];
        total += (i == 0 ? 2 : 4) + boundary_.size() + 2;
        if (!media_type_.empty()) total += type_line.size() + media_type_.size() + 2;
        total += range_line.size() + decimal_size(part.first) + 1 + decimal_size(part.last) + 1 +
                 decimal_size(size_) + 4;
        total += part.size();
    }
    return total;
}

std::string byteranges_boundary(std::uint64_t high, std::uint64_t low) {
    std::string boundary;
    boundary.reserve(32);
    coracle::detail::append_hex(boundary, high);
    coracle::detail::append_hex(boundary, low);
    return boundary;
}

}  // namespace coracle::http::detail
