#include "http/message/token.hpp"

#include <coracle/http/json.hpp>

namespace coracle::http::detail {
namespace {

/// application/json (RFC 8259), or a type with the suffix of JSON (RFC 6839 section 3.1).
bool is_json_type(std::string_view content_type) noexcept {
    const std::string_view type = trim_ows(content_type.substr(0, content_type.find(';')));
    if (equal_ignoring_case(type, "application/json")) return true;
    constexpr std::string_view suffix = "+json";
    const std::size_t slash = type.find('/');
    return slash != 0 && slash != std::string_view::npos &&
           type.size() > slash + 1 + suffix.size() &&
           equal_ignoring_case(type.substr(type.size() - suffix.size()), suffix);
}

}  // namespace

task<std::expected<std::string, rejection>> read_json(request& req, std::size_t limit) {
    if (!is_json_type(req.header(field_id::content_type))) {
        co_return std::unexpected(
            rejection{status::unsupported_media_type, "the Content-Type is not application/json"});
    }
    auto text = co_await as_result(req.body().text(limit));
    if (!text) co_return std::unexpected(body_rejection(text.error()));
    co_return *std::move(text);
}

}  // namespace coracle::http::detail
