#include "request_body.hpp"

#include "settings.hpp"

#include <coracle/http/form_body.hpp>
#include <coracle/mime/disposition.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::tool {
namespace {

/// Of a file, or, as "-", of standard input.
std::string content_of(const std::string& path) {
    const bool input = path == "-";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        input ? stdin : std::fopen(path.c_str(), "rbe"),
        [](std::FILE* f) { return f == stdin ? 0 : std::fclose(f); });
    std::string all;
    std::array<char, 65536> bytes;
    while (file != nullptr) {
        const std::size_t n = std::fread(bytes.data(), 1, bytes.size(), file.get());
        all.append(bytes.data(), n);
        if (n == 0 && std::ferror(file.get()) == 0) return all;
        if (n == 0) break;
    }
    throw unreadable("cannot read '" + path + "': " + std::strerror(errno));
}

std::string text_of(const body_text& b) {
    if (b.how == body_text::kind::raw || !b.text.starts_with('@')) return b.text;
    std::string all = content_of(b.text.substr(1));
    if (b.how == body_text::kind::data) {
        std::erase_if(all, [](char c) { return c == '\r' || c == '\n'; });
    }
    return all;
}

/// What stands behind the value of a part: ";type=image/png", ";filename=ada.png".
struct part_options {
    std::string value;
    std::optional<std::string> type;
    std::optional<std::string> filename;
};

part_options options_of(const std::string& text) {
    part_options o;
    const std::size_t first = std::min(text.find(";type="), text.find(";filename="));
    o.value = text.substr(0, first);
    for (std::size_t at = first; at < text.size();) {
        const std::size_t equals = text.find('=', at);
        const std::string name = text.substr(at + 1, equals - at - 1);
        // A media type has parameters of its own.
        const char* const next = name == "type" ? ";filename=" : ";type=";
        const std::size_t end = std::min(text.find(next, equals), text.size());
        (name == "type" ? o.type : o.filename) = text.substr(equals + 1, end - equals - 1);
        at = end;
    }
    return o;
}

void add_file_part(http::form_body& form, const std::string& name, const part_options& o) {
    const std::string type = o.type.value_or("application/octet-stream");
    if (o.filename || o.value == "@-") {
        form.add_data(name, o.filename.value_or("-"), content_of(o.value.substr(1)), type);
    } else {
        form.add_file(name, o.value.substr(1), type);
    }
}

void add_text_part(http::form_body& form, const std::string& name, const part_options& o) {
    const bool of_file = o.value.starts_with('<');
    const std::string text = of_file ? content_of(o.value.substr(1)) : o.value;
    if (!o.type) {
        form.add(name, text);
        return;
    }
    const std::string field = mime::format_disposition({"form-data", name, std::nullopt});
    form.add_part({{"Content-Disposition", field}, {"Content-Type", *o.type}}, text);
}

/// "name=value", "name=<file", "name=@file", "name=@file;type=image/png".
void add_part(http::form_body& form, const std::string& text) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0) {
        throw failure("cannot read --form '" + text + "': write it as in --form name=value or " +
                      "--form name=@FILE");
    }
    const part_options o = options_of(text.substr(at + 1));
    const std::string name = text.substr(0, at);
    if (o.value.starts_with('@')) {
        add_file_part(form, name, o);
    } else {
        add_text_part(form, name, o);
    }
}

http::form_body form_of(const std::vector<std::string>& parts) {
    http::form_body form;
    for (const std::string& p : parts) {
        try {
            add_part(form, p);
        } catch (const exception& e) {
            const std::string why = "cannot send --form '" + p + "': " + e.error().code().message();
            if (e.error().operation() == "open") throw unreadable(why);
            throw failure(why);
        }
    }
    return form;
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
    // What is wrong with them is said before anything is asked for. Standard input is read once.
    const auto is_of_input = [](const std::string& p) {
        return p.find("=@-") != std::string::npos || p.find("=<-") != std::string::npos;
    };
    if (std::ranges::none_of(settings.parts, is_of_input)) {
        static_cast<void>(form_of(settings.parts));
    }
    for (const auto& [name, value] : settings.fields) fields_.add(name, value);
    if (is_json_ && !fields_.contains("Accept")) fields_.add("Accept", "application/json");
}

bool request_body::has_content() const noexcept {
    return !settings_.bodies.empty() || !settings_.parts.empty();
}

std::string_view request_body::method() const noexcept {
    if (!settings_.method.empty()) return settings_.method;
    if (settings_.head) return "HEAD";
    return has_content() ? "POST" : "GET";
}

void request_body::give_to(http::call& c) const {
    c.fields(fields_);
    if (!settings_.parts.empty()) {
        c.multipart(form_of(settings_.parts));
    } else if (!settings_.bodies.empty()) {
        c.body(http::body(text_),
               is_json_ ? "application/json" : "application/x-www-form-urlencoded");
    }
}

}  // namespace coracle::tool
