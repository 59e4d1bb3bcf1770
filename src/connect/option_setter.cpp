#include "base/ascii.hpp"
#include "connect/option_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::connect::detail {
namespace {

// Returns true if the text may be shown in an error.
bool looks_like_key(std::string_view text) noexcept {
    return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
        return coracle::detail::is_letter(c) || coracle::detail::is_digit(c) || c == '_' ||
               c == '-' || c == '.';
    });
}

bool has_name(const option& o, std::string_view key) noexcept {
    if (o.key == key) return true;
    for (std::string_view rest = o.aliases; !rest.empty();) {
        if (coracle::detail::take_item(rest, ' ') == key) return true;
    }
    return false;
}

// Returns the "optimal string alignment" distance: the bytes to insert, delete, replace or swap
// with the next one.
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> before(to.size() + 1);
    std::vector<std::size_t> last(to.size() + 1);
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= from.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const bool same = from[i - 1] == to[j - 1];
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            const bool exchanged =
                i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
            if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[to.size()];
}

}  // namespace

std::unexpected<error> refuse_option(std::string_view sentence) {
    return std::unexpected(error(std::errc::invalid_argument, "option").on(sentence));
}

std::unexpected<error> refuse_value(const option& o, std::string_view shown) {
    std::string sentence(shown.empty() ? o.key : shown);
    sentence += " wants ";
    sentence += o.wanted;
    return refuse_option(sentence);
}

const option* find_option(std::span<const option> table, std::string_view key) noexcept {
    const auto found =
        std::ranges::find_if(table, [key](const option& o) { return has_name(o, key); });
    return found == table.end() ? nullptr : &*found;
}

std::string_view nearest_key(std::span<const option> table, std::string_view key) {
    // A text that differs by half of a key, or is longer than all keys, is not a misspelling.
    if (key.size() > 64) return {};
    std::size_t least = std::max<std::size_t>(2, key.size() / 3) + 1;
    std::string_view nearest;
    const auto look_at = [&](std::string_view name) {
        const std::size_t d = distance(key, name);
        if (d >= least || d >= name.size()) return;
        least = d;
        nearest = name;
    };
    for (const option& o : table) {
        look_at(o.key);
        for (std::string_view rest = o.aliases; !rest.empty();) {
            look_at(coracle::detail::take_item(rest, ' '));
        }
    }
    return nearest;
}

std::expected<const option*, error> option_setter::find(std::string_view key) const {
    if (const option* o = find_option(family_.table, key)) {
        if (!o->is_of_pool || with_pool_) return o;
        return refuse_option(std::string(o->key) + " is of a client, not of " +
                             std::string(family_.single));
    }
    if (const option* o = find_option(family_.ignored, key)) return o;
    if (!key.empty() && key == family_.foreign) return refuse_option(family_.foreign_meaning);
    std::string told = looks_like_key(key) ? "\"" + std::string(key) + "\"" : "a key";
    if (const std::string_view meant = nearest_key(family_.table, key); !meant.empty()) {
        told += " (did you mean " + std::string(meant) + "?)";
    }
    return std::unexpected(error(errc::unknown_option, "option").on(told));
}

set_result option_setter::set(const option& o, std::string_view value, std::string_view shown) {
    if (!o.set(target_, value)) return refuse_value(o, shown);
    return {};
}

}  // namespace coracle::connect::detail
