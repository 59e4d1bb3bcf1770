#include "http/coding/accept_encoding.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"
#include "http/message/weight.hpp"

#include <coracle/http/fields.hpp>

#include <optional>
#include <string_view>

namespace coracle::http::detail {
namespace {

constexpr int not_named = -1;

/// Weights in thousandths.
struct weights {
    int of[static_cast<std::size_t>(content_coding::zstd) + 1] = {not_named, not_named, not_named,
                                                                  not_named, not_named};
    int any = not_named;

    int& named(content_coding coding) noexcept { return of[static_cast<std::size_t>(coding)]; }
    int weight_of(content_coding coding) noexcept {
        const int own = named(coding);
        return own != not_named ? own : any;
    }
};

/// Reads the text after the name: nothing, or `;q=` and the weight.
std::optional<int> read_parameters(std::string_view text) noexcept {
    text = trim_ows(text);
    if (text.empty()) return 1000;
    if (text.front() != ';') return std::nullopt;
    text = trim_ows(text.substr(1));
    if (!equal_ignoring_case(text.substr(0, 2), "q=")) return std::nullopt;
    return read_weight(text.substr(2));
}

void read_member(std::string_view member, weights& out) noexcept {
    const std::size_t end = member.find(';');
    const std::string_view name = trim_ows(member.substr(0, end));
    const auto weight =
        read_parameters(end == std::string_view::npos ? std::string_view() : member.substr(end));
    if (!weight) return;
    if (name == "*") {
        out.any = *weight;
    } else if (const auto coding = find_content_coding(name)) {
        out.named(*coding) = *weight;
    }
}

weights read_all(const fields& request) noexcept {
    weights all;
    for (const field& f : request) {
        if (f.id != field_id::accept_encoding) continue;
        std::string_view rest = f.value;
        while (!rest.empty()) {
            read_member(trim_ows(coracle::detail::take_item(rest)), all);
        }
    }
    return all;
}

}  // namespace

content_coding negotiate_coding(const fields& request,
                                std::span<const content_coding> available) noexcept {
    weights all = read_all(request);
    content_coding best = content_coding::identity;
    int highest = 0;
    for (const content_coding coding : available) {
        const int weight = all.weight_of(coding);
        if (weight <= highest) continue;
        best = coding;
        highest = weight;
    }
    return all.named(content_coding::identity) > highest ? content_coding::identity : best;
}

}  // namespace coracle::http::detail
