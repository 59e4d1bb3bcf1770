#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/base/url.hpp>
#include <coracle/http/forward.hpp>
#include <coracle/http/forwarded.hpp>
#include <coracle/http/request.hpp>

#include <memory>

namespace coracle::http {
namespace {

/// Fields that are about one connection (RFC 9110 section 7.6.1).
bool is_of_connection(const field& f, const fields& all) noexcept {
    switch (f.id) {
        case field_id::connection:
        case field_id::keep_alive:
        case field_id::proxy_authenticate:
        case field_id::proxy_authorization:
        case field_id::te:
        case field_id::trailer:
        case field_id::transfer_encoding:
        case field_id::content_length:
        case field_id::expect:
        case field_id::upgrade: return true;
        default: break;
    }
    return equal_ignoring_case(f.name, "Proxy-Connection") ||
           all.has_token(field_id::connection, f.name);
}

void tell_client(const request& req, fields& out) {
    const auto* const info = req.data<client_info>();
    std::string chain;
    if (info != nullptr) chain = std::string(req.header("X-Forwarded-For")) + ", ";
    chain += req.peer().host();
    out.set("X-Forwarded-For", chain);
    out.set("X-Forwarded-Proto", client_scheme(req));
    if (const auto host = client_host(req); !host.empty()) out.set("X-Forwarded-Host", host);
}

class forwarder {
public:
    forwarder(client& c, const url& base, const forward_options& o)
        : client_(&c), options_(o), via_(o.via) {
        prefix_.append(base.scheme()).append("://").append(base.authority()).append(base.path());
        if (prefix_.ends_with('/')) prefix_.pop_back();
    }

    task<response> operator()(request& req) const { return forward(this, &req); }

private:
    static task<response> forward(const forwarder* self, request* req) {
        call c = self->make(*req);
        auto answer = co_await as_result(c);
        if (!answer) {
            const bool late = answer.error() == std::errc::timed_out;
            co_return response(late ? status::gateway_timeout : status::bad_gateway,
                               late ? "504 Gateway Timeout\n" : "502 Bad Gateway\n");
        }
        response r = *std::move(answer);
        fields kept;
        for (const field& f : r.fields()) {
            if (!is_of_connection(f, r.fields())) kept.add(f.name, f.value);
        }
        if (!self->via_.empty()) kept.add("Via", "1.1 " + self->via_);
        r.fields() = std::move(kept);
        co_return r;
    }

    call make(request& req) const {
        const bool whole = req.target().starts_with('/');
        std::string there = prefix_;
        there += whole ? req.target() : req.path();
        call c = client_->request(req.method_text(), there);
        fields out;
        for (const field& f : req.fields()) {
            if (is_of_connection(f, req.fields())) continue;
            if (f.id == field_id::host && !options_.keep_host) continue;
            out.add(f.name, f.value);
        }
        if (options_.tells_client) tell_client(req, out);
        if (!via_.empty()) out.add("Via", "1.1 " + via_);
        c.fields(std::move(out));
        client_options o = client_->defaults();
        o.follow = follow::none;
        o.cookies = false;
        o.accept_compression = false;
        o.user_agent.clear();
        c.options(std::move(o));
        if (options_.timeout > duration::zero()) c.timeout(options_.timeout);
        if (!req.body().ended()) c.body(body::relay(req.body()), "");
        return c;
    }

    client* client_;
    forward_options options_;
    std::string via_;
    std::string prefix_;
};

}  // namespace

handler forward_to(client& client, std::string_view base, forward_options o) {
    auto there = url::parse(base);
    if (!there) throw_exception(std::move(there).error());
    return forwarder(client, *there, o);
}

}  // namespace coracle::http
