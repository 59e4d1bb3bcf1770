#include "http/error_style.hpp"

#include <coracle/http/problem.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

namespace coracle::http::detail {
namespace {

bool is_error(status code) noexcept {
    return static_cast<int>(code) >= 400;
}

/// Returns a sentence without its line end; empty if it only repeats the status.
std::string_view detail_of(std::string_view text, status code) {
    if (text == standard_text(code)) return {};
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    return text;
}

}  // namespace

std::string standard_text(status code) {
    return std::to_string(static_cast<int>(code)) + ' ' + std::string(reason_phrase(code)) + '\n';
}

response error_response(const request& req, status code, std::string_view text) {
    const error_style* const style = req.error_style();
    if (text.empty() && style != nullptr && style->has_page(code, req.path())) {
        return response(code);
    }
    return pageless_response(req, code, text);
}

response pageless_response(const request& req, status code, std::string_view text) {
    const error_style* const style = req.error_style();
    if (style != nullptr && style->problems && is_error(code)) {
        return problem(code, detail_of(text, code));
    }
    return {code, text.empty() ? standard_text(code) : std::string(text)};
}

void become_problem(response& r) {
    const body& b = r.body();
    const fields& all = r.fields();
    if (!is_error(r.status()) || !b.in_memory() || all.contains(field_id::content_type) ||
        all.contains(field_id::content_encoding)) {
        return;
    }
    const std::string_view type = r.default_type();
    if (type != response::plain && !(type.empty() && b.bytes().empty())) return;
    response made = problem(r.status(), detail_of(b.bytes(), r.status()));
    r.set_body(std::move(made.body()), made.default_type());
}

}  // namespace coracle::http::detail
