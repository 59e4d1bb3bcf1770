#include "request_body.hpp"

#include "input_file.hpp"
#include "settings.hpp"
#include "upload.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/form_body.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::tool {
namespace {

/// Encodes a text for a form: a space is "+".
std::string form_encoded(const std::string& text) {
    std::string all;
    for (const char c : text) {
        if (c == ' ') {
            all += '+';
        } else {
            all += percent_encode(std::string_view(&c, 1));
        }
    }
    return all;
}

/// "content", "=content", "name=content", "@file" or "name@file": the content percent-encoded.
std::string encoded(const std::string& text) {
    std::size_t at = text.find('=');
    if (at == std::string::npos) at = text.find('@');
    if (at == std::string::npos) return form_encoded(text);
    const std::string rest = text.substr(at + 1);
    const std::string value = form_encoded(text[at] == '@' ? content_of(rest) : rest);
    return at == 0 ? value : text.substr(0, at) + '=' + value;
}

std::string text_of(const body_text& b) {
    if (b.how == body_text::kind::encoded) return encoded(b.text);
    if (b.how == body_text::kind::raw || !b.text.starts_with('@')) return b.text;
    std::string all = content_of(b.text.substr(1));
    if (b.how == body_text::kind::data) {
        std::erase_if(all, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
    }
    return all;
}

/// The parts, read.
std::vector<form_part> parts_of(const std::vector<std::string>& texts) {
    std::vector<form_part> all(texts.begin(), texts.end());
    std::optional<std::string> input;
    if (std::ranges::any_of(all, &form_part::is_of_input)) input = content_of("-");
    for (form_part& p : all) p.read(input);
    return all;
}

http::form_body form_of(const std::vector<form_part>& parts) {
    http::form_body form;
    for (const form_part& p : parts) p.add_to(form);
    return form;
}

void add_field(http::fields& to, const std::string& name, const std::string& value) {
    try {
        to.add(name, value);
    } catch (const exception&) {
        // The value may be a secret.
        throw failure("cannot send the header '" + name +
                      "': its name or its value has characters that none may have");
    }
}

}  // namespace

request_body::request_body(const get_settings& settings)
    : settings_(settings), parts_(parts_of(settings.parts)) {
    for (const body_text& b : settings.bodies) {
        is_json_ = is_json_ || b.how == body_text::kind::json;
    }
    for (const body_text& b : settings.bodies) {
        if (&b != &settings.bodies.front() && !is_json_) text_ += '&';
        text_ += text_of(b);
    }
    // Faults in the parts are reported before any request is made.
    static_cast<void>(form_of(parts_));
    for (const auto& [name, value] : settings.fields) add_field(fields_, name, value);
    if (is_json_ && !fields_.contains("Accept")) fields_.add("Accept", "application/json");
}

bool request_body::has_content() const noexcept {
    return !parts_.empty() || (!settings_.bodies.empty() && !settings_.data_in_url);
}

std::string_view request_body::method(bool upload) const noexcept {
    if (!settings_.method.empty()) return settings_.method;
    if (upload) return "PUT";
    if (settings_.head) return "HEAD";
    return has_content() ? "POST" : "GET";
}

std::string request_body::with_query(const std::string& url) const {
    if (!settings_.data_in_url || text_.empty()) return url;
    const std::size_t end = std::min(url.find('#'), url.size());
    const bool has_query = url.find('?') < end;
    const bool is_open = has_query && (url[end - 1] == '?' || url[end - 1] == '&');
    const char* const mark = is_open ? "" : has_query ? "&" : "?";
    return url.substr(0, end) + mark + text_ + url.substr(end);
}

void request_body::give_to(http::call& c, const std::string& upload) const {
    c.fields(fields_);
    if (!upload.empty()) {
        // Its media type is unknown.
        c.body(upload_body(upload), "");
    } else if (!parts_.empty()) {
        c.multipart(form_of(parts_));
    } else if (has_content()) {
        const char* const type =
            is_json_ ? "application/json" : "application/x-www-form-urlencoded";
        c.body(http::body(text_), settings_.has_media_type ? type : "");
    }
}

}  // namespace coracle::tool
