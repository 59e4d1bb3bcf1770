#include "base/ascii.hpp"
#include "http/error_style.hpp"
#include "http/exchange/failure.hpp"
#include "http/message/token.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/problem.hpp>
#include <coracle/http/rejection.hpp>
#include <coracle/http/request.hpp>

namespace coracle::http {
namespace {

/// Returns true if the weight among the parameters of a media range is zero (RFC 9110 section
/// 12.4.2).
bool is_refused(std::string_view parameters) noexcept {
    while (!parameters.empty()) {
        const std::size_t end = parameters.find(';');
        const std::string_view p = trim_ows(parameters.substr(0, end));
        parameters = end == std::string_view::npos ? "" : parameters.substr(end + 1);
        if (p.size() < 3 || (p[0] | 0x20) != 'q' || p[1] != '=') continue;
        return p.find_first_not_of("0.", 2) == std::string_view::npos;
    }
    return false;
}

bool is_json_range(std::string_view range) noexcept {
    const std::size_t semicolon = range.find(';');
    const std::string_view type = trim_ows(range.substr(0, semicolon));
    if (!equal_ignoring_case(type, "application/json") &&
        !equal_ignoring_case(type, "application/problem+json")) {
        return false;
    }
    return semicolon == std::string_view::npos || !is_refused(range.substr(semicolon + 1));
}

/// Returns a JSON pointer as the fragment of a URI has it (RFC 6901 section 6).
std::string as_fragment(std::string_view pointer) {
    return percent_encode(pointer, percent_set::query);
}

std::string faults_as_json(const std::vector<fault>& all) {
    std::string json = "[";
    for (const fault& f : all) {
        if (json.size() > 1) json += ',';
        json += "{\"detail\":" + json_quoted(f.detail) +
                ",\"pointer\":" + json_quoted('#' + as_fragment(f.pointer)) + '}';
    }
    return json + ']';
}

}  // namespace

void faults::require(bool holds, std::string_view pointer, std::string_view detail) {
    if (holds) return;
    const std::string_view slash = pointer.empty() || pointer.front() == '/' ? "" : "/";
    all_.push_back({std::string(slash).append(pointer), std::string(detail)});
}

bool accepts_json(const request& req) noexcept {
    for (const field& f : req.fields()) {
        if (f.id != field_id::accept) continue;
        std::string_view rest = f.value;
        while (!rest.empty()) {
            if (is_json_range(coracle::detail::take_item(rest))) return true;
        }
    }
    return false;
}

response to_response(const rejection& why, const request& req) {
    const detail::error_style* const style = req.error_style();
    if (accepts_json(req) || (style != nullptr && style->problems)) {
        problem p(why.status, why.detail);
        if (!why.found.empty()) p.add_json("errors", faults_as_json(why.found));
        return p;
    }
    std::string text = why.detail.empty() ? std::string(reason_phrase(why.status)) : why.detail;
    text += '\n';
    for (const fault& f : why.found) text += f.pointer + ": " + f.detail + '\n';
    return response(why.status, std::move(text));
}

rejection body_rejection(const error& e) {
    const status code = detail::status_of(e);
    if (code == status::internal_server_error) throw_exception(e);
    if (code == status::content_too_large) return {code, "the body is larger than is accepted"};
    if (code == status::unsupported_media_type) {
        return {code, "the body is not of the type that is expected"};
    }
    std::string reason = detail::reason_of(e);
    return {code, reason.empty() ? std::string(reason_phrase(code)) : std::move(reason)};
}

}  // namespace coracle::http
