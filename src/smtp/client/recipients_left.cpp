#include "smtp/client/recipients_left.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace coracle::smtp::detail {
namespace {

constexpr std::uint16_t too_many = 452;
/// As servers before RFC 2821 have it, and some still do.
constexpr std::uint16_t too_many_once = 552;

/// Returns whether the reply is about the number of recipients, and not about this one: a mailbox
/// that is full has the same code, and an enhanced one that says so (RFC 3463 section 3.6).
bool is_beyond_limit(const recipient_result& one) noexcept {
    const reply& said = one.reply;
    if (one.accepted || (said.code != too_many && said.code != too_many_once)) return false;
    return !said.enhanced || (said.enhanced.subject == 5 && said.enhanced.detail == 3);
}

/// Returns whether the server says in so many words that it takes no more.
bool says_no_more(const recipient_result& one) noexcept {
    return is_beyond_limit(one) && one.reply.enhanced;
}

}  // namespace

bool refuse_rest(std::vector<recipient_result>& all, std::size_t asked) {
    constexpr std::size_t in_a_row = 3;
    if (asked < in_a_row) return false;
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(asked);
    if (!std::all_of(end - in_a_row, end, says_no_more)) return false;
    for (auto one = end; one != all.end(); ++one) one->reply = std::prev(end)->reply;
    return true;
}

std::vector<recipient_result> recipients_left(const std::vector<recipient_result>& all) {
    std::vector<recipient_result> left;
    for (const recipient_result& one : all) {
        if (is_beyond_limit(one)) left.push_back({one.address, false, {}});
    }
    return left;
}

void put_outcomes(std::vector<recipient_result>& all, std::vector<recipient_result> of_left) {
    auto next = of_left.begin();
    for (recipient_result& one : all) {
        if (next == of_left.end()) return;
        if (is_beyond_limit(one) && one.address == next->address) one = std::move(*next++);
    }
}

}  // namespace coracle::smtp::detail
