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
    // What came in fields of these names is text of whoever sent it. Who the client is has been
    // found out, or it is the peer.
    const auto* const info = req.data<client_info>();
    std::string chain;
    if (info != nullptr && info->proxies != 0 && !info->hidden) {
        chain.append(info->address.host()).append(", ");
    }
    chain += req.peer().host();
    out.remove("Forwarded");
    out.set("X-Forwarded-For", chain);
    out.set("X-Forwarded-Proto", client_scheme(req));
    if (const auto host = client_host(req); !host.empty()) out.set("X-Forwarded-Host", host);
}

/// What a request asks for as it came: path and query, empty where the target has neither. The
/// decoded path will not do, which a second reader would decode again.
std::string_view asked_for(const request& req) noexcept {
    std::string_view target = req.target();
    const std::size_t scheme_end = target.starts_with('/') ? 0 : target.find("://");
    if (scheme_end == std::string_view::npos) return {};
    if (scheme_end == 0) return target;
    target.remove_prefix(scheme_end + 3);
    const std::size_t authority_end = target.find_first_of("/?");
    return authority_end == std::string_view::npos ? "/" : target.substr(authority_end);
}

class forwarder {
public:
    forwarder(client& c, const url& base, const forward_options& o)
        : client_(&c), options_(o), via_(o.via) {
        path_ = base.path();
        if (path_.ends_with('/')) path_.pop_back();
        prefix_.append(base.scheme()).append("://").append(base.authority()).append(path_);
    }

    task<response> operator()(request& req) const { return forward(this, &req); }

private:
    static task<response> forward(const forwarder* self, request* req) {
        const std::string there = self->address_of(*req);
        if (there.empty()) co_return response(status::bad_request, "400 Bad Request\n");
        call c = self->make(*req, there);
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

    /// Empty when it would lead out of the path of the base.
    std::string address_of(const request& req) const {
        const std::string_view asked = asked_for(req);
        if (asked.empty()) return {};
        std::string there = prefix_;
        if (!asked.starts_with('/')) there += '/';
        there += asked;
        const auto read = url::parse(there);
        if (!read) return {};
        const std::string_view path = read->path();
        const bool within = path.starts_with(path_) && path.substr(path_.size()).starts_with('/');
        return within ? there : std::string();
    }

    call make(request& req, std::string_view there) const {
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
        // A client that stops reading holds one.
        o.receive_block = 0;
        c.options(std::move(o));
        if (options_.timeout > duration::zero()) c.timeout(options_.timeout);
        if (!req.body().ended()) c.body(body::relay(req.body()), "");
        return c;
    }

    client* client_;
    forward_options options_;
    std::string via_;
    std::string prefix_;
    std::string path_;  ///< of the base
};

}  // namespace

handler forward_to(client& client, std::string_view base, forward_options o) {
    auto there = url::parse(base);
    if (!there) throw_exception(std::move(there).error());
    return forwarder(client, *there, o);
}

}  // namespace coracle::http
