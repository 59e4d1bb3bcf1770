// The sources of the values of extractors.

#include "http/message/token.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/cookie.hpp>
#include <coracle/http/extract.hpp>

namespace coracle::http {
namespace detail {
namespace {

/// A private type, so that a form that other code stored with the request is not taken for its
/// body.
struct body_form {
    form all;
};

/// The most bytes of a text that an error shows to its sender.
constexpr std::size_t most_shown = 64;

std::string_view name_of(value_kind kind) noexcept {
    switch (kind) {
        case value_kind::path: return "path parameter";
        case value_kind::query: return "query parameter";
        case value_kind::header: return "field";
        case value_kind::cookie: return "cookie";
        case value_kind::form: return "form field";
    }
    return "value";
}

/// Returns the text in quotes, cut, and without control bytes.
std::string shown(std::string_view text) {
    std::string out(text.substr(0, most_shown));
    for (char& byte : out) {
        if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) byte = '?';
    }
    return '\'' + out + (text.size() > most_shown ? "...'" : "'");
}

/// Decodes a name or value of a query: in place where there is nothing to decode.
std::string_view decoded(std::string_view text, arena& memory) {
    if (text.find_first_of("%+") == std::string_view::npos) return text;
    char* const out = static_cast<char*>(memory.allocate(text.size(), 1));
    return {out, form_decode_to(out, text)};
}

bool is_encoded_as(std::string_view encoded, std::string_view name) {
    if (encoded.find_first_of("%+") == std::string_view::npos) return encoded == name;
    return form_decode(encoded) == name;
}

}  // namespace

value_cursor::value_cursor(request& req, value_kind kind, std::string_view name)
    : req_(&req), name_(name), kind_(kind) {
    if (kind == value_kind::query) rest_ = req.query_text();
}

bool value_cursor::next(std::string_view& out) {
    switch (kind_) {
        case value_kind::query: return next_query(out);
        case value_kind::path: return next_param(out);
        case value_kind::header: return next_field(out);
        case value_kind::cookie: return next_cookie_value(out);
        case value_kind::form: return next_form(out);
    }
    return false;
}

bool value_cursor::next_param(std::string_view& out) noexcept {
    const auto* const value = at_++ == 0 ? req_->find_param(name_) : nullptr;
    if (value != nullptr) out = *value;
    return value != nullptr;
}

bool value_cursor::next_query(std::string_view& out) {
    while (!rest_.empty()) {
        const std::size_t end = rest_.find('&');
        const std::string_view pair = rest_.substr(0, end);
        rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
        const std::size_t equals = pair.find('=');
        if (pair.empty() || !is_encoded_as(pair.substr(0, equals), name_)) continue;
        out = equals == std::string_view::npos ? std::string_view()
                                               : decoded(pair.substr(equals + 1), req_->memory());
        return true;
    }
    return false;
}

bool value_cursor::next_field(std::string_view& out) noexcept {
    const auto& fields = std::as_const(*req_).fields();
    while (at_ != fields.size()) {
        const field& f = fields.begin()[at_++];
        if (!equal_ignoring_case(f.name, name_)) continue;
        out = f.value;
        return true;
    }
    return false;
}

/// `at_` counts the field lines that were begun; `rest_` is the rest of the last one.
bool value_cursor::next_cookie_value(std::string_view& out) noexcept {
    const auto& fields = std::as_const(*req_).fields();
    for (;;) {
        cookie_pair pair;
        while (next_cookie(rest_, pair)) {
            if (pair.name != name_) continue;
            out = pair.value;
            return true;
        }
        while (at_ != fields.size() && fields.begin()[at_].id != field_id::cookie) ++at_;
        if (at_ == fields.size()) return false;
        rest_ = fields.begin()[at_++].value;
    }
}

bool value_cursor::next_form(std::string_view& out) noexcept {
    const form* all = kept_form(*req_);
    while (all != nullptr && at_ != all->size()) {
        const form::entry e = (*all)[at_++];
        if (e.name != name_) continue;
        out = e.value;
        return true;
    }
    return false;
}

rejection value_cursor::missing() const {
    return {.detail = std::string(name_of(kind_)) + ' ' + shown(name_) + " is missing"};
}

rejection value_cursor::malformed(std::string_view text, std::string_view why) const {
    return {.detail = std::string(name_of(kind_)) + ' ' + shown(name_) + ": " + shown(text) + ' ' +
                      std::string(why)};
}

std::string not_an_integer(std::int64_t least, std::uint64_t most) {
    return "is not an integer between " + std::to_string(least) + " and " + std::to_string(most);
}

const form* kept_form(const request& req) noexcept {
    const auto* kept = req.data<body_form>();
    return kept == nullptr ? nullptr : &kept->all;
}

task<std::expected<void, rejection>> keep_form(request& req) {
    if (kept_form(req) != nullptr) co_return std::expected<void, rejection>();
    auto read = co_await as_result(read_form(req));
    if (!read) co_return std::unexpected(body_rejection(read.error()));
    req.emplace_data<body_form>(*std::move(read));
    co_return std::expected<void, rejection>();
}

}  // namespace detail

task<std::expected<form, rejection>> from_request<form>::extract(request& req) {
    auto kept = co_await detail::keep_form(req);
    if (!kept) co_return std::unexpected(std::move(kept).error());
    co_return *detail::kept_form(req);
}

}  // namespace coracle::http
