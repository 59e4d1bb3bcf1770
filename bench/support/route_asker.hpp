#pragma once

#include "http/server/canonical_path.hpp"

#include <coracle/http/handler.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

#include <cstdlib>
#include <string_view>

namespace bench {

/// The part of a connection that stands in front of a router.
class route_asker {
public:
    /// Gives the status that the handler gave.
    unsigned ask(const coracle::http::handler& h, std::string_view path) {
        req_.clear();
        coracle::http::request::parts p;
        p.method_text = "GET";
        p.target = path;
        p.path = *coracle::http::detail::canonical_path(path, req_.memory());
        req_.assign(p);
        if (!h.call(req_, response_, pending_)) std::abort();
        return static_cast<unsigned>(response_.status());
    }

private:
    coracle::http::request req_;
    coracle::http::response response_;
    coracle::task<coracle::http::response> pending_;
};

}  // namespace bench
