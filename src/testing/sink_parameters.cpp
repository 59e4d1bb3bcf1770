#include "testing/sink_parameters.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <system_error>

namespace coracle::testing::detail {
namespace {

constexpr std::size_t most_digits = 20;  // RFC 1870 section 3

/// Reads the value of SIZE. Returns false where it is no number.
bool read_size(std::string_view digits, std::uint64_t& size) {
    if (digits.empty() || digits.size() > most_digits) return false;
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, size);
    if (failure == std::errc::result_out_of_range) {
        size = std::numeric_limits<std::uint64_t>::max();
    }
    return stop == end;
}

bool is_body(std::string_view value) noexcept {
    return value == "7BIT" || value == "8BITMIME" || value == "BINARYMIME";
}

}  // namespace

std::string upper(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c & ~0x20);
    }
    return out;
}

sink_parameters read_parameters(std::string_view text,
                                std::initializer_list<known_parameter> known) {
    sink_parameters all;
    std::set<std::string> seen;
    while (!text.empty()) {
        const std::string_view one = coracle::detail::take_item(text, ' ');
        if (one.empty()) continue;
        const std::size_t equals = std::min(one.find('='), one.size());
        const std::string name = upper(one.substr(0, equals));
        const std::string_view value = one.substr(std::min(equals + 1, one.size()));
        const auto found = std::ranges::find(known, name, &known_parameter::name);
        if (found == known.end() || !found->is_offered) {
            all.refusal = "555 5.5.4 no parameter " + name;
        } else if (!seen.insert(name).second) {
            all.refusal = "501 5.5.4 twice " + name;
        } else if (name == "SIZE" && !read_size(value, all.size)) {
            all.refusal = "501 5.5.4 SIZE=number";
        } else if (name == "BODY") {
            all.body = upper(value);
            if (!is_body(all.body)) all.refusal = "501 5.5.4 BODY=8BITMIME";
        } else if (name == "SMTPUTF8") {
            all.utf8 = true;
        }
        if (!all.refusal.empty()) return all;
    }
    return all;
}

}  // namespace coracle::testing::detail
