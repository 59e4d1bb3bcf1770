#include "base/ascii.hpp"
#include "mime/parameters.hpp"

#include <coracle/mime/media_type.hpp>

#include <algorithm>

namespace coracle::mime {

std::optional<std::string_view> media_type::get(std::string_view name) const noexcept {
    for (const parameter& p : parameters) {
        if (p.name == name) return p.value;
    }
    return std::nullopt;
}

std::optional<media_type> parse_media_type(std::string_view text) {
    const std::size_t end = std::min(text.find(';'), text.size());
    const std::string_view essence = detail::trim(text.substr(0, end));
    const std::size_t slash = essence.find('/');
    if (slash == std::string_view::npos || !detail::is_token(essence.substr(0, slash)) ||
        !detail::is_token(essence.substr(slash + 1))) {
        return std::nullopt;
    }
    media_type type{coracle::detail::lower(essence), {}};
    detail::parameter_reader reader(text.substr(end));
    while (auto p = reader.next()) {
        type.parameters.push_back({std::move(p->name), std::move(p->value)});
    }
    if (reader.malformed()) return std::nullopt;
    return type;
}

}  // namespace coracle::mime
