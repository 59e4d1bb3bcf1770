#pragma once

#include "support/virtual_time.hpp"

#include <coracle/http/handler.hpp>
#include <coracle/net/network.hpp>
#include <coracle/runtime/sleep.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace middleware_test {

using namespace coracle;
using coracle::testing::run_virtually;
using namespace std::chrono_literals;
using field_list = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// A request, and what a handler makes of it.
class asked {
public:
    explicit asked(std::string_view method, field_list fields = {},
                   std::string_view from = "192.0.2.1")
        : peer_(*net::parse_ip(from, 1234)) {
        http::request::parts p;
        p.method = http::parse_method(method);
        p.method_text = method;
        p.path = p.target = "/";
        p.host = "x";
        p.peer = &peer_;
        req.assign(p);
        for (const auto& [name, value] : fields) req.fields().add(name, value);
    }

    task<> by(const http::handler& h) {
        task<http::response> pending;
        if (!h.call(req, res, pending)) res = co_await std::move(pending);
    }
    int status() const { return static_cast<int>(res.status()); }
    std::string header(std::string_view name) const { return std::string(res.header(name)); }
    std::string text() const { return std::string(res.body().bytes()); }
    /// The lines of all fields of this name, with "; " between.
    std::string all(std::string_view name) const {
        std::string out;
        for (const http::field& f : res.fields()) {
            if (f.name == name) out += (out.empty() ? "" : "; ") + std::string(f.value);
        }
        return out;
    }

    http::request req;
    http::response res;

private:
    net::address peer_;
};

/// The status of a GET from there, with this X-User.
inline task<int> status_for(http::handler h, std::string from = "192.0.2.1",
                            std::string user = {}) {
    asked a("GET", {{"X-User", user}}, from);
    co_await a.by(h);
    co_return a.status();
}

/// Handlers of both kinds, around each of which a middleware has to work.
inline http::handler plain() {
    return [](http::request&) { return http::response("reached"); };
}
inline http::handler waiting() {
    return [](http::request&) -> task<http::response> {
        co_await sleep_for(1ms);
        co_return http::response("reached");
    };
}

template <class F>
std::string refusal_of(F make) {
    try {
        make();
    } catch (const exception& e) {
        return e.error() == std::errc::invalid_argument ? std::string(e.error().subject())
                                                        : "another error";
    }
    return "none";
}

}  // namespace middleware_test
