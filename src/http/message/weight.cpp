#include "http/message/weight.hpp"

namespace coracle::http::detail {

std::optional<int> read_weight(std::string_view text) noexcept {
    if (text.empty() || text.size() > 5 || (text.size() > 1 && text[1] != '.')) return std::nullopt;
    int value = 0;
    int unit = 1000;
    for (std::size_t i = 0; i != text.size(); ++i) {
        if (i == 1) continue;
        if (text[i] < '0' || text[i] > '9') return std::nullopt;
        value += (text[i] - '0') * unit;
        unit /= 10;
    }
    return value > 1000 ? std::nullopt : std::optional<int>(value);
}

}  // namespace coracle::http::detail
