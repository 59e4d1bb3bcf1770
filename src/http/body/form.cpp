#include "base/ascii.hpp"
#include "http/body/form_type.hpp"
#include "http/message/token.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/form.hpp>
#include <coracle/http/request.hpp>
#include <coracle/mime/media_type.hpp>

namespace coracle::http {
namespace {

std::unexpected<error> beyond(std::string_view limit) {
    error e(errc::limit_exceeded, "form");
    return std::unexpected(std::move(e.on(limit)));
}

void append_encoded(std::string& out, std::string_view text) {
    // The URL standard's set, section 5.2: letters, digits and "*-._" stay, a space becomes "+".
    constexpr std::string_view hex = "0123456789ABCDEF";
    for (const char c : text) {
        const int lower = c | 0x20;
        const bool stays = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '*' ||
                           c == '-' || c == '.' || c == '_';
        if (stays || c == ' ') {
            out += stays ? c : '+';
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += hex[byte >> 4];
        out += hex[byte & 15U];
    }
}

}  // namespace

std::size_t form::append_decoded(std::string_view encoded) {
    const std::size_t before = text_.size();
    text_.append(encoded);
    const std::size_t size = form_decode_to(text_.data() + before, encoded);
    text_.resize(before + size);
    return size;
}

std::expected<form, error> form::parse(std::string_view text, const form_limits& limits) {
    if (text.size() > limits.bytes) return beyond("form_limits.bytes");
    form f;
    f.text_.reserve(text.size());
    while (!text.empty()) {
        const std::string_view encoded = coracle::detail::take_item(text, '&');
        if (encoded.empty()) continue;
        if (f.size() == limits.pairs) return beyond("form_limits.pairs");
        const std::size_t equals = encoded.find('=');
        pair p{f.text_.size(), f.append_decoded(encoded.substr(0, equals)), 0};
        if (equals != std::string_view::npos) {
            p.value_size = f.append_decoded(encoded.substr(equals + 1));
        }
        f.pairs_.push_back(p);
    }
    return f;
}

std::optional<std::string_view> form::get(std::string_view name) const noexcept {
    for (const entry e : *this) {
        if (e.name == name) return e.value;
    }
    return std::nullopt;
}

std::vector<std::string_view> form::get_all(std::string_view name) const {
    std::vector<std::string_view> all;
    for (const entry e : *this) {
        if (e.name == name) all.push_back(e.value);
    }
    return all;
}

form& form::add(std::string_view name, std::string_view value) {
    // Both may lie in the text, which must not move before they are copied.
    std::string both;
    both.reserve(name.size() + value.size());
    both.append(name).append(value);
    pairs_.push_back({text_.size(), name.size(), value.size()});
    text_ += both;
    return *this;
}

std::string form::text() const {
    std::string out;
    for (const entry e : *this) {
        if (!out.empty()) out += '&';
        append_encoded(out, e.name);
        out += '=';
        append_encoded(out, e.value);
    }
    return out;
}

namespace {

error refusal(status code) {
    return {make_error_code(code), "form", phase::receive};
}

task<std::expected<form, error>> read_form_of(request* req, form_limits limits) {
    if (!detail::is_form(req->header(field_id::content_type))) {
        co_return std::unexpected(refusal(status::unsupported_media_type));
    }
    auto text = co_await as_result(req->body().text(limits.bytes));
    if (!text) co_return std::unexpected(std::move(text).error());
    auto parsed = form::parse(*text, limits);
    if (!parsed) co_return std::unexpected(refusal(status::content_too_large));
    co_return std::move(parsed);
}

}  // namespace

bool detail::is_form(std::string_view content_type) {
    const auto type = mime::parse_media_type(content_type);
    if (!type || type->essence != "application/x-www-form-urlencoded") return false;
    const std::string_view charset = type->get("charset").value_or("utf-8");
    return equal_ignoring_case(charset, "utf-8") || equal_ignoring_case(charset, "utf8");
}

operation<form> read_form(request& req, form_limits limits) {
    return read_form_of(&req, limits);
}

}  // namespace coracle::http
