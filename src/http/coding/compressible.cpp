#include "http/coding/compressible.hpp"

#include "http/message/token.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

constexpr std::string_view compressible_types[] = {
    "text/*",
    "application/json",
    "application/javascript",
    "application/ecmascript",
    "application/x-javascript",
    "application/xml",
    "application/x-ndjson",
    "application/jsonl",
    "application/json-seq",
    "application/wasm",
    "application/graphql",
    "application/sql",
    "application/rtf",
    "application/toml",
    "application/yaml",
    "application/x-yaml",
    "application/x-sh",
    "application/x-httpd-php",
    "application/x-www-form-urlencoded",
    "application/vnd.ms-fontobject",
    "application/x-font-ttf",
    "application/xml-dtd",
    "font/ttf",
    "font/otf",
    "font/collection",
    "image/bmp",
    "image/svg+xml",
    "image/vnd.microsoft.icon",
    "image/x-icon",
    "model/gltf+json",
    "model/obj",
    "model/stl",
};

/// Structured syntax suffixes (RFC 6839) of text.
constexpr std::string_view compressible_suffixes[] = {"+json", "+xml", "+yaml", "+json-seq"};

bool ends_ignoring_case(std::string_view text, std::string_view end) noexcept {
    return text.size() >= end.size() &&
           equal_ignoring_case(text.substr(text.size() - end.size()), end);
}

std::string_view without_parameters(std::string_view media_type) noexcept {
    return trim_ows(media_type.substr(0, media_type.find(';')));
}

}  // namespace

bool matches_media_type(std::string_view media_type, std::string_view pattern) noexcept {
    const std::string_view type = without_parameters(media_type);
    if (!pattern.ends_with("/*")) return equal_ignoring_case(type, pattern);
    pattern.remove_suffix(1);
    return equal_ignoring_case(type.substr(0, pattern.size()), pattern);
}

bool is_compressible(std::string_view media_type) noexcept {
    const std::string_view type = without_parameters(media_type);
    return std::ranges::any_of(compressible_types,
                               [type](auto t) { return matches_media_type(type, t); }) ||
           std::ranges::any_of(compressible_suffixes,
                               [type](auto s) { return ends_ignoring_case(type, s); });
}

}  // namespace coracle::http::detail
