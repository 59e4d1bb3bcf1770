#pragma once

#include "support/virtual_time.hpp"

#include <coracle/http/router.hpp>

#include <string>
#include <string_view>

namespace coracle::testing {

/// The outcome of a request to a handler.
struct outcome {
    int status;
    std::string body;
    std::string allow;
};

inline outcome ask(const http::handler& h, std::string_view method, std::string_view path,
                   std::string_view host = {}, std::string_view preflight_of = {}) {
    http::request req;
    http::request::parts p;
    p.method = http::parse_method(method);
    p.method_text = method;
    p.path = path;
    p.target = path;
    p.host = host;
    req.assign(p);
    if (!preflight_of.empty()) req.fields().set("Access-Control-Request-Method", preflight_of);
    return run_virtually([&]() -> task<outcome> {
        http::response r = co_await h(req);
        outcome o{static_cast<int>(r.status()), std::string(r.body().bytes()),
                  std::string(r.fields().get("Allow"))};
        co_return o;
    });
}

/// The body of a 200, else the status.
inline std::string get(const http::handler& h, std::string_view path) {
    const outcome o = ask(h, "GET", path);
    return o.status == 200 ? o.body : std::to_string(o.status);
}

/// A handler that responds with a word and the parameters "a" and "b".
inline auto say(std::string word) {
    return [word](http::request& req) {
        std::string text = word;
        for (const char* name : {"a", "b"}) {
            if (!req.param(name).empty()) text += " " + std::string(req.param(name));
        }
        return text;
    };
}

inline std::string why_refused(auto f) {
    try {
        f();
    } catch (const exception& e) {
        return e.what();
    }
    return "it was not refused";
}

}  // namespace coracle::testing
