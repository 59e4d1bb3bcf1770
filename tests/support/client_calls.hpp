#pragma once

#include <coracle/http/client.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/http/request.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace coracle::testing {

/// Makes the call on the client's own loop, and gives how it failed; without a code when it did
/// not.
inline error failure_of(http::call c) {
    try {
        static_cast<void>(std::move(c).wait());
    } catch (const exception& e) {
        return e.error();
    }
    return {};
}

/// Responds with the path that was asked for.
inline http::response path_of(http::request& req) {
    return http::response(std::string(req.path()));
}

/// The name of a field as clients write it over HTTP/1.1; over HTTP/2 it comes in lower case.
inline std::string written_name(const http::request& req, std::string_view name) {
    std::string text(name);
    if (req.version() != http::version::http_2) return text;
    bool first = true;
    for (char& c : text) {
        if (first && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        first = c == '-';
    }
    return text;
}

/// Responds with what came: "METHOD target", the fields a line each, an empty line, and the body.
inline task<http::response> tell_request(http::request& req) {
    std::string text(req.method_text());
    text.append(" ").append(req.target()).append("\n");
    for (const http::field& f : req.fields()) {
        text.append(written_name(req, f.name)).append(": ").append(f.value).append("\n");
    }
    text += '\n';
    constexpr std::size_t most = 64 * 1024 * 1024;
    auto reading = req.body().text(most);
    auto body = co_await as_result(reading);
    if (!body) throw_exception(std::move(body).error());
    text += *body;
    co_return http::response(std::move(text));
}

/// Returns the body from the text that such a response tells.
inline std::string body_told(const std::string& told) {
    return told.substr(told.find("\n\n") + 2);
}

}  // namespace coracle::testing
