#include "request_body.hpp"

#include "file_argument.hpp"
#include "input_file.hpp"
#include "settings.hpp"
#include "upload.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/form_body.hpp>
#include <coracle/mime/disposition.hpp>
#include <coracle/mime/media_type.hpp>

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
    const std::size_t at = text.find_first_of("=@");
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
        std::erase_if(all, [](char c) { return c == '\r' || c == '\n'; });
    }
    return all;
}

/// The bytes of standard input, or null; a part that is of it has them.
using input_text = const std::string*;

std::string part_content(const file_argument& o, input_text input) {
    return o.value == "-" && input != nullptr ? *input : content_of(o.value);
}

void add_file_part(http::form_body& form, const std::string& name, const file_argument& o,
                   input_text input) {
    const std::string type(o.type ? std::string_view(*o.type)
                                  : mime::media_type_of(o.name.value_or(o.value)));
    if (o.name || o.value == "-") {
        form.add_data(name, o.name.value_or("-"), part_content(o, input), type);
    } else {
        form.add_file(name, o.value, type);
    }
}

void add_text_part(http::form_body& form, const std::string& name, const std::string& text,
                   const file_argument& o) {
    if (!o.type) {
        form.add(name, text);
        return;
    }
    const std::string field = mime::format_disposition({"form-data", name, std::nullopt});
    form.add_part({{"Content-Disposition", field}, {"Content-Type", *o.type}}, text);
}

/// "name=value", "name=<file", "name=@file", "name=@file;type=image/png". What follows "=", "<" or
/// "@" may stand in quotes.
struct part_argument {
    explicit part_argument(std::string_view text) {
        const std::size_t at = text.find('=');
        if (at == std::string_view::npos || at == 0) {
            throw failure("cannot read --form '" + std::string(text) +
                          "': write it as in --form name=value or --form name=@FILE");
        }
        name = text.substr(0, at);
        text.remove_prefix(at + 1);
        if (text.starts_with('@') || text.starts_with('<')) {
            mark = text.front();
            text.remove_prefix(1);
        }
        content = read_file_argument(text, "filename");
    }
    bool is_of_input() const noexcept { return mark != '\0' && content.value == "-"; }

    std::string name;
    char mark = '\0';
    file_argument content;
};

void add_part(http::form_body& form, const part_argument& p, input_text input) {
    switch (p.mark) {
        case '@': add_file_part(form, p.name, p.content, input); break;
        case '<': add_text_part(form, p.name, part_content(p.content, input), p.content); break;
        default: add_text_part(form, p.name, p.content.value, p.content); break;
    }
}

http::form_body form_of(const std::vector<std::string>& parts, input_text input) {
    http::form_body form;
    for (const std::string& p : parts) {
        try {
            add_part(form, part_argument(p), input);
        } catch (const exception& e) {
            const std::string why = "cannot send --form '" + p + "': " + e.error().code().message();
            if (e.error().operation() == "open") throw unreadable(why);
            throw failure(why);
        }
    }
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

request_body::request_body(const get_settings& settings) : settings_(settings) {
    for (const body_text& b : settings.bodies) {
        is_json_ = is_json_ || b.how == body_text::kind::json;
    }
    for (const body_text& b : settings.bodies) {
        if (&b != &settings.bodies.front() && !is_json_) text_ += '&';
        text_ += text_of(b);
    }
    const auto is_of_input = [](const std::string& p) { return part_argument(p).is_of_input(); };
    if (std::ranges::any_of(settings.parts, is_of_input)) input_ = content_of("-");
    // Faults in the parts are reported before any request is made.
    static_cast<void>(form_of(settings.parts, input()));
    for (const auto& [name, value] : settings.fields) add_field(fields_, name, value);
    if (is_json_ && !fields_.contains("Accept")) fields_.add("Accept", "application/json");
}

bool request_body::has_content() const noexcept {
    return !settings_.parts.empty() || (!settings_.bodies.empty() && !settings_.data_in_url);
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
    } else if (!settings_.parts.empty()) {
        c.multipart(form_of(settings_.parts, input()));
    } else if (has_content()) {
        const char* const type =
            is_json_ ? "application/json" : "application/x-www-form-urlencoded";
        c.body(http::body(text_), settings_.has_media_type ? type : "");
    }
}

}  // namespace coracle::tool
