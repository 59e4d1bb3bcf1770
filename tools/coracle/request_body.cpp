#include "request_body.hpp"

#include "settings.hpp"

#include <coracle/http/form_body.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

namespace coracle::tool {
namespace {

std::string content_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string all{std::istreambuf_iterator<char>(file), {}};
    if (file.is_open() && !file.bad()) return all;
    throw failure("cannot read '" + path + "': " + std::strerror(errno));
}

std::string text_of(const body_text& b) {
    if (b.how == body_text::kind::raw || !b.text.starts_with('@')) return b.text;
    std::string all = content_of(b.text.substr(1));
    if (b.how == body_text::kind::data) {
        std::erase_if(all, [](char c) { return c == '\r' || c == '\n'; });
    }
    return all;
}

/// "name=value", "name=@file", "name=@file;type=image/png".
void add_part(http::form_body& form, const std::string& text) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0) {
        throw failure("cannot read --form '" + text + "': write it as in --form name=value or " +
                      "--form name=@FILE");
    }
    const std::string name = text.substr(0, at);
    const std::string value = text.substr(at + 1);
    if (!value.starts_with('@')) {
        form.add(name, value);
        return;
    }
    const std::size_t type = value.find(";type=");
    const std::string path = value.substr(1, type == std::string::npos ? type : type - 1);
    if (type == std::string::npos) {
        form.add_file(name, path);
    } else {
        form.add_file(name, path, value.substr(type + 6));
    }
}

http::form_body form_of(const std::vector<std::string>& parts) {
    http::form_body form;
    for (const std::string& p : parts) {
        try {
            add_part(form, p);
        } catch (const exception& e) {
            throw failure("cannot send --form '" + p + "': " + e.error().code().message());
        }
    }
    return form;
}

}  // namespace

std::string_view request_body::method() const noexcept {
    if (!settings_.method.empty()) return settings_.method;
    if (settings_.head) return "HEAD";
    return settings_.bodies.empty() && settings_.parts.empty() ? "GET" : "POST";
}

void request_body::give_to(http::call& c) const {
    http::fields fields;
    bool json = false;
    for (const body_text& b : settings_.bodies) json = json || b.how == body_text::kind::json;
    for (const auto& [name, value] : settings_.fields) fields.add(name, value);
    if (json && !fields.contains("Accept")) fields.add("Accept", "application/json");
    c.fields(std::move(fields));
    if (!settings_.parts.empty()) {
        c.multipart(form_of(settings_.parts));
    } else if (!settings_.bodies.empty()) {
        std::string all;
        for (const body_text& b : settings_.bodies) {
            if (!all.empty() && !json) all += '&';
            all += text_of(b);
        }
        c.body(http::body(std::move(all)),
               json ? "application/json" : "application/x-www-form-urlencoded");
    }
}

}  // namespace coracle::tool
