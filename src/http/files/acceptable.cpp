#include "http/files/acceptable.hpp"

#include "http/coding/accept_encoding.hpp"
#include "http/message/token.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace coracle::http::detail {
namespace {

/// A weight times 1000; nothing when it was not given.
using weight = std::optional<int>;

std::string_view take_until(std::string_view& text, char end) noexcept {
    const std::size_t at = text.find(end);
    const std::string_view piece = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return trim_ows(piece);
}

// RFC 9110 section 12.4.2: "0.123", "1.000". What is none of these weighs nothing.
int parse_weight(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return 0;
    int value = (text[0] - '0') * 1000;
    if (text.size() > 1 && text[1] != '.') return 0;
    int unit = 100;
    for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (c < '0' || c > '9') return 0;
        value += (c - '0') * unit;
        unit /= 10;
    }
    return value > 1000 ? 0 : value;
}

// Reads the parameters after the name of a member.
int weight_of(std::string_view parameters) noexcept {
    while (!parameters.empty()) {
        std::string_view value = take_until(parameters, ';');
        const std::string_view name = take_until(value, '=');
        if (equal_ignoring_case(name, "q")) return parse_weight(trim_ows(value));
    }
    return 1000;
}

/// Calls `f(name, weight)` for each member of a list field.
template <class F>
void each_member(const fields& all, field_id id, const F& f) {
    for (const field& line : all) {
        if (line.id != id) continue;
        std::string_view rest = line.value;
        while (!rest.empty()) {
            std::string_view member = take_until(rest, ',');
            const std::string_view name = take_until(member, ';');
            if (!name.empty()) f(name, weight_of(member));
        }
    }
}

/// The weights of one kind of range, from the most specific that names a type.
struct type_weight {
    weight exact;
    weight subtypes;  // "text/*"
    weight any;
    int value() const noexcept { return exact.value_or(subtypes.value_or(any.value_or(0))); }
};

type_weight weight_of_type(const fields& all, std::string_view type) noexcept {
    type_weight w;
    const std::string_view major = type.substr(0, type.find('/') + 1);
    each_member(all, field_id::accept, [&](std::string_view name, int q) {
        if (equal_ignoring_case(name, type))
            w.exact = q;
        else if (name == "*/*")
            w.any = q;
        else if (name.ends_with("/*") &&
                 equal_ignoring_case(name.substr(0, name.size() - 1), major))
            w.subtypes = q;
    });
    return w;
}

}  // namespace

coding_choice acceptable_codings(const fields& all) noexcept {
    // Those with equal weights are ordered by size.
    content_coding left[] = {content_coding::brotli, content_coding::zstd, content_coding::gzip};
    coding_choice choice;
    for (std::size_t n = std::size(left); n != 0; --n) {
        const content_coding best = negotiate_coding(all, {left, n});
        if (best == content_coding::identity) break;
        choice.add(best);
        std::remove(left, left + n, best);
    }
    return choice;
}

bool names_html(const fields& all) noexcept {
    return weight_of_type(all, "text/html").exact.value_or(0) > 0;
}

bool prefers_json(const fields& all) noexcept {
    return weight_of_type(all, "application/json").value() >
           weight_of_type(all, "text/html").value();
}

}  // namespace coracle::http::detail
