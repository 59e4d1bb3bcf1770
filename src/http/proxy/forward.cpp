#include "base/whole_number.hpp"
#include "http/body/body_layer.hpp"
#include "http/error_style.hpp"
#include "http/forwarded/forwarding_field.hpp"
#include "http/message/connection_field.hpp"
#include "http/message/token.hpp"
#include "http/proxy/passed_upgrade.hpp"
#include "http/proxy/relayed_call.hpp"
#include "http/proxy/upstream_group.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/forward.hpp>
#include <coracle/http/forwarded.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response_info.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/this_task.hpp>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::http {
namespace {

/// Returns true for a field that the next connection has of its own, or not at all.
bool is_of_connection(const field& f, const fields& all) noexcept {
    switch (f.id) {
        case field_id::proxy_authenticate:
        case field_id::proxy_authorization:
        case field_id::te:
        case field_id::content_length:
        case field_id::expect: return true;
        default: break;
    }
    return is_connection_field(f.id) || all.has_token(field_id::connection, f.name);
}

/// The name of a client as `trust_proxies` reads it: without a zone, which is of this machine
/// alone, and without a path.
std::string node_of(const net::address& client) {
    if (client.family() == net::family::unix_path) return "unix:";
    const std::string host = client.host();
    return host.substr(0, host.find('%'));
}

void tell_client(const request& req, fields& out) {
    // Fields of these names that came are text of their sender. The client has been found out, or
    // it is the peer.
    const auto* const info = req.data<client_info>();
    std::string chain;
    if (info != nullptr && info->proxies != 0 && !info->hidden) {
        chain.append(node_of(info->address)).append(", ");
    }
    chain += node_of(req.peer());
    out.set("X-Forwarded-For", chain);
    out.set("X-Forwarded-Proto", client_scheme(req));
    if (const auto host = client_host(req); !host.empty()) out.set("X-Forwarded-Host", host);
}

/// Returns path and query of a target as it came, empty where it has neither. No proxy may change
/// them (RFC 9110 section 7.7): signatures are made of them.
std::string_view asked_for(const request& req) noexcept {
    std::string_view target = req.target();
    const std::size_t scheme_end = target.starts_with('/') ? 0 : target.find("://");
    if (scheme_end == std::string_view::npos) return {};
    if (scheme_end == 0) return target;
    target.remove_prefix(scheme_end + 3);
    const std::size_t authority_end = target.find_first_of("/?");
    return authority_end == std::string_view::npos ? "/" : target.substr(authority_end);
}

/// Appends to `out` what of `path` is left behind `prefix`, which is compared decoded and by whole
/// segments; false when it does not begin with it.
bool strip(std::string_view path, std::string_view prefix, std::string& out) {
    std::size_t at = 0;
    for (std::size_t i = 0; i != prefix.size(); ++i) {
        if (at == path.size()) return false;
        char c = path[at++];
        if (c == '%' && path.size() - at >= 2) {
            const auto decoded = percent_decode(path.substr(at - 1, 3));
            if (!decoded) return false;
            c = decoded->front();
            at += 2;
            // It separates nothing, for the router neither.
            if (c == '/') return false;
        }
        if (c != prefix[i]) return false;
    }
    const std::string_view rest = path.substr(at);
    if (!rest.empty() && rest.front() != '/') return false;
    out += rest.empty() ? "/" : rest;
    return true;
}

/// Returns a path with a slash in place of each encoded slash and backslash.
std::string with_plain_slashes(std::string_view path) {
    std::string out;
    for (std::size_t at = 0; at != path.size(); ++at) {
        const std::string_view code = path.substr(at, 3);
        const bool is_slash = code == "%2F" || code == "%2f" || code == "%5C" || code == "%5c";
        out += is_slash ? '/' : path[at];
        if (is_slash) at += 2;
    }
    return out;
}

bool is_idempotent(const request& req) noexcept {
    switch (req.method()) {
        case method::get:
        case method::head:
        case method::put:
        case method::delete_:
        case method::options:
        case method::trace: return true;
        default: return false;
    }
}

/// Returns true if nothing of a request had been sent when it failed.
bool was_not_sent(const error& e) noexcept {
    switch (e.phase()) {
        case phase::resolve:
        case phase::connect:
        case phase::proxy:
        case phase::tls: return true;
        default: return false;
    }
}

bool may_go_elsewhere(const error& e, const request& req, bool has_body) noexcept {
    if (was_not_sent(e)) return true;
    if (has_body || coracle::detail::is_cancellation(e)) return false;
    return e.safe_to_retry() || (is_idempotent(req) && e != std::errc::timed_out);
}

/// Returns true for a failure that says nothing of the upstream: too many requests wait for a
/// connection, or the client shuts down.
bool is_of_our_client(const error& e) noexcept {
    return (e == errc::shutting_down && e.operation() == "request") ||
           (e == errc::limit_exceeded && e.subject().ends_with("pool_options::waiting"));
}

status status_of_failure(const error& e) noexcept {
    if (is_of_our_client(e)) return status::service_unavailable;
    return e == std::errc::timed_out ? status::gateway_timeout : status::bad_gateway;
}

response failure_of(const request& req, const error& e) {
    return detail::error_response(req, status_of_failure(e));
}

/// Passes an interim response on (RFC 9110 section 15.2), but no 100: the server sends its own when
/// the body is read.
task<> pass_interim(request* to, const response* came) {
    if (came->status() == status::continue_ || has_long_connection_field(came->fields())) co_return;
    response out(came->status());
    for (const field& f : came->fields()) {
        if (!is_of_connection(f, came->fields())) out.fields().add(f);
    }
    // A client that is gone ends the exchange by itself.
    co_await as_result(to->inform(out));
}

/// Sends the body of an upstream's response. If that fails before anything was sent, the status
/// says whose fault it is.
task<> send_body(body* of_upstream, body_writer* out) {
    try {
        auto sending = of_upstream->stream_part()(*out);
        co_await std::move(sending);
    } catch (const exception& e) {
        error why(make_error_code(status_of_failure(e.error())), "forward_to");
        throw_exception(why.on(e.what()));
    }
}

void blame_upstream(response& r) {
    if (r.body().type() != body::kind::stream) return;
    const auto size = r.body().size();
    r.set_body(body::stream(
        [whole = std::move(r.body())](body_writer& out) mutable { return send_body(&whole, &out); },
        size));
}

/// Gives a response to HEAD the body that one to GET would have, of which nothing is written:
/// middleware would take none for an empty one, and make a tag of that.
void stand_in_for_body(response& r, const request& req) {
    const bool has_none = r.status() == status::no_content || r.status() == status::not_modified;
    if (req.method() != method::head || has_none) return;
    const auto* const length = r.extension() == nullptr ? nullptr : r.extension()->head_length();
    if (length == nullptr || *length == 0U) return;
    r.set_body(body::stream([](body_writer&) -> task<> { co_return; }, *length));
}

/// The body of a request as it is passed on, which notes why it failed: that is no fault of the
/// upstream. Lives in the data of the request.
class passed_body final : public detail::body_layer {
public:
    explicit passed_body(request& of) noexcept : body_layer(of.body()), of_(&of) {}

    const std::optional<error>& failure() const noexcept { return failure_; }

    task<std::expected<std::string_view, error>> read() override {
        auto reading = whole().read();
        auto piece = co_await as_result(reading);
        // A cancelled read says that the call has ended, for a reason of its own.
        if (!piece && !coracle::detail::is_cancellation(piece.error())) failure_ = piece.error();
        if (piece && piece->empty()) keep_trailers();
        co_return piece;
    }
    const fields* trailers() const noexcept override { return trailers_.get(); }
    void drop_trailers() noexcept { drops_trailers_ = true; }
    void keep_underscores() noexcept { keeps_underscores_ = true; }

private:
    /// Keeps those that take the place of no field, which a handler may have set, and say nothing
    /// of the client: an upstream may merge them with the head.
    void keep_trailers() {
        if (drops_trailers_) return;
        const fields& head = of_->fields();
        for (const field& f : whole().trailers()) {
            if (head.contains(f.name) || detail::is_forwarding_field(f.name) ||
                is_of_connection(f, head) || (!keeps_underscores_ && f.name.contains('_')))
                continue;
            if (trailers_ == nullptr) trailers_ = std::make_unique<fields>();
            trailers_->add(f);
        }
    }

    request* of_;
    bool drops_trailers_ = false;
    bool keeps_underscores_ = false;
    std::optional<error> failure_;
    std::unique_ptr<fields> trailers_;
};

/// Makes the body of the request one that is passed on.
passed_body& body_to_pass(request& req) {
    if (auto* const there = req.data<passed_body>()) return *there;
    auto& passed = req.emplace_data<passed_body>(req);
    req.set_body(received_body(&passed));
    return passed;
}

/// Throws why the body of the request failed, if it did: the server responds to that.
void throw_failure_of_body(const request& req) {
    const auto* const passed = req.data<passed_body>();
    if (passed != nullptr && passed->failure()) throw_exception(*passed->failure());
}

/// The hops that an OPTIONS or TRACE request may go on for (RFC 9110 section 7.6.2); nothing where
/// it has no such limit.
std::optional<std::uint64_t> hops_left(const request& req) noexcept {
    if (req.method() != method::options && req.method() != method::trace) return std::nullopt;
    return coracle::detail::whole_number<std::uint64_t>(req.header(field_id::max_forwards));
}

/// "1.1 coracle", of the version in which a message was received (RFC 9110 section 7.6.3).
std::string via_entry(version received, const std::string& name) {
    const char* const number = received == version::http_2     ? "2.0 "
                               : received == version::http_1_0 ? "1.0 "
                                                               : "1.1 ";
    return number + name;
}

version received_in(const response& r) noexcept {
    return r.info() != nullptr ? r.info()->version : version::http_1_1;
}

/// The begin of the addresses of an upstream.
struct base_address {
    explicit base_address(const url& base) : path(base.path()) {
        // They would be sent to nobody.
        if (base.has_user()) {
            throw_exception(error(std::errc::invalid_argument, "forward_to")
                                .on(base.redacted() + " has credentials: give them to the client"));
        }
        if (path.ends_with('/')) path.pop_back();
        prefix.append(base.scheme()).append("://").append(base.authority()).append(path);
    }
    std::string path;
    std::string prefix;
};

class forwarder {
public:
    forwarder(client& c, const forward_options& o)
        : client_(&c), options_(o), via_(o.via), strip_(o.strip_prefix) {
        while (strip_.ends_with('/')) strip_.pop_back();
        if (!strip_.empty() && !strip_.starts_with('/')) strip_.insert(0, 1, '/');
    }

    /// Returns the part of the target that goes behind the path of an upstream, or the response
    /// that refuses it.
    std::expected<std::string, response> rest_of(const request& req) const {
        if (has_long_connection_field(req.fields())) return std::unexpected(bad_request(req));
        const std::string_view asked = asked_for(req);
        if (asked.empty()) {
            // About this server as a whole (RFC 9110 section 9.3.7).
            const bool is_about_all = req.method() == method::options && req.target() == "*";
            return std::unexpected(is_about_all ? response(status::no_content) : bad_request(req));
        }
        std::string rest;
        if (strip_.empty()) {
            if (!asked.starts_with('/')) rest += '/';
            return rest.append(asked);
        }
        // Dots are resolved first, or "/api/../admin" would begin with "/api". All else stays.
        const auto read = url().resolve(
            "http://h" + (asked.starts_with('/') ? std::string(asked) : '/' + std::string(asked)));
        if (!read) return std::unexpected(bad_request(req));
        if (!strip(read->path(), strip_, rest)) {
            return std::unexpected(detail::error_response(req, status::not_found));
        }
        const std::size_t query = asked.find('?');
        if (query != std::string_view::npos) rest += asked.substr(query);
        return rest;
    }

    /// Empty when it would lead out of the path of the base, whoever resolves its dot segments, and
    /// whether or not encoded slashes separate them there.
    static std::string address_of(const base_address& base, std::string_view rest) {
        std::string there = base.prefix;
        there += rest;
        const bool within =
            is_within(base, there) && (rest.find('%') == rest.npos ||
                                       is_within(base, base.prefix + with_plain_slashes(rest)));
        return within ? there : std::string();
    }

    /// The response to a request that goes no further; nothing for one that does.
    static std::optional<response> response_to_last(const request& req) {
        if (hops_left(req) != 0U) return std::nullopt;
        if (req.method() == method::options) return response(status::no_content);
        return detail::error_response(req, status::method_not_allowed).set("Allow", "OPTIONS");
    }

    call make(request& req, std::string_view there, const detail::passed_upgrade& switching) const {
        call c = client_->request(req.method_text(), there);
        fields out;
        const auto hops = hops_left(req);
        for (const field& f : req.fields()) {
            if (f.id == field_id::host || is_of_connection(f, req.fields())) continue;
            if (!options_.underscores && f.name.contains('_')) continue;
            if (options_.tells_client && detail::is_forwarding_field(f.name)) continue;
            if (f.id == field_id::max_forwards && hops) {
                out.add(f.name, std::to_string(*hops - 1));
                continue;
            }
            out.add(f);
        }
        // Made of the target where that names a host (RFC 9112 section 3.2.2).
        if (options_.keep_host && !req.host().empty()) out.set("Host", req.host());
        if (options_.tells_client) tell_client(req, out);
        if (!via_.empty()) out.add("Via", via_entry(req.version(), via_));
        if (!switching && req.fields().has_token(field_id::te, "trailers")) {
            out.add("TE", "trailers");
        }
        if (options_.change_fields) options_.change_fields(req, out);
        // An empty one is the way to send none.
        if (!out.contains(field_id::accept)) out.add("Accept", "");
        switching.prepare(out);
        const bool has_body = !switching && !req.body().ended();
        if (has_body) {
            auto& passed = body_to_pass(req);
            // They would not be changed, and may be merged with the head.
            if (options_.change_fields) passed.drop_trailers();
            if (options_.underscores) passed.keep_underscores();
            c.body(body::relay(req.body()), "");
        }
        c.fields(std::move(out));
        client_options o = client_->defaults();
        o.follow = follow::none;
        o.path_as_is = true;
        o.cookies = false;
        o.accept_compression = false;
        o.user_agent.clear();
        // A client that stops reading holds one.
        o.receive_block = 0;
        // The call tells of interim responses, or may be hedged.
        const bool hedges = o.retry.hedge_after > duration::zero();
        c.options(std::move(o));
        if (options_.timeout > duration::zero()) c.timeout(options_.timeout);
        if (switching) c.upgrade(switching.protocol());
        if (!hedges)
            c.on_interim([to = &req](const response& came) { return pass_interim(to, &came); });
        return c;
    }

    response pass_back(response r, const request& req,
                       const detail::passed_upgrade& switching) const {
        if (has_long_connection_field(r.fields())) {
            return detail::error_response(req, status::bad_gateway);
        }
        fields kept;
        // A response that says what it wants must do so (RFC 9110 section 15.5.22).
        const bool wants_upgrade = r.status() == status::upgrade_required;
        for (const field& f : r.fields()) {
            const bool passes = wants_upgrade && f.id == field_id::upgrade;
            if (passes || !is_of_connection(f, r.fields())) kept.add(f);
        }
        if (!via_.empty()) kept.add("Via", via_entry(received_in(r), via_));
        if (switching.has_switched(r)) {
            return switching.pass_back(std::move(r), std::move(kept), options_.upgraded_idle);
        }
        r.fields() = std::move(kept);
        blame_upstream(r);
        stand_in_for_body(r, req);
        return r;
    }

    /// Makes the call that `make` gave. A body is passed on while its response is. Returns no error
    /// in a task that was cancelled: there is no response to be made up then.
    static task<std::expected<response, error>> response_to(call c, request* req) {
        auto came = co_await made(&c, req);
        const bool stopped = co_await this_task::stopped();
        if (!came && stopped) co_await yield();
        co_return came;
    }

    const forward_options& options() const noexcept { return options_; }
    static response bad_request(const request& req) {
        return detail::error_response(req, status::bad_request);
    }

private:
    static bool is_within(const base_address& base, std::string_view there) {
        const auto read = url::parse(there);
        if (!read) return false;
        const std::string_view path = read->path();
        return path.starts_with(base.path) && path.substr(base.path.size()).starts_with('/');
    }
    static task<std::expected<response, error>> made(call* c, request* req) {
        auto* const server = req->exchange();
        detail::exchange_scope* const beside = server == nullptr ? nullptr : server->scope();
        if (beside != nullptr) return detail::relayed_call(std::move(*c), beside);
        return sent(c);
    }
    static task<std::expected<response, error>> sent(call* c) { co_return co_await as_result(*c); }

    client* client_;
    forward_options options_;
    std::string via_;
    std::string strip_;
};

/// To one upstream.
class forward_to_one {
public:
    forward_to_one(client& c, const url& base, const forward_options& o)
        : how_(c, o), base_(base) {}

    task<response> operator()(request& req) const { return forward(this, &req); }

private:
    static task<response> forward(const forward_to_one* self, request* req) {
        auto rest = self->how_.rest_of(*req);
        if (!rest) co_return std::move(rest).error();
        auto last = forwarder::response_to_last(*req);
        if (last) co_return *std::move(last);
        const std::string there = forwarder::address_of(self->base_, *rest);
        if (there.empty()) co_return forwarder::bad_request(*req);
        const detail::passed_upgrade switching(*req, self->how_.options().upgrades);
        auto calling = forwarder::response_to(self->how_.make(*req, there, switching), req);
        auto came = co_await std::move(calling);
        if (!came) {
            throw_failure_of_body(*req);
            co_return failure_of(*req, came.error());
        }
        co_return self->how_.pass_back(*std::move(came), *req, switching);
    }

    forwarder how_;
    base_address base_;
};

/// To one of several.
class forward_to_any {
public:
    forward_to_any(upstreams::group& to, const forward_options& o)
        : how_(to.caller(), o), to_(&to) {
        for (const auto& u : to.members()) {
            auto base = url::parse(u->url);
            if (!base) throw_exception(std::move(base).error());
            bases_.emplace_back(*base);
        }
    }

    task<response> operator()(request& req) const { return forward(this, &req); }

private:
    /// Its place in the request: until the response is out, the upstream has it.
    struct use {
        explicit use(detail::upstream& u) noexcept : counted(u) {}
        detail::upstream_use counted;
    };

    const base_address& base_of(const detail::upstream& u) const noexcept {
        std::size_t i = 0;
        while (to_->members()[i].get() != &u) ++i;
        return bases_[i];
    }

    static task<response> forward(const forward_to_any* self, request* req) {
        upstreams::group& to = *self->to_;
        auto rest = self->how_.rest_of(*req);
        if (!rest) co_return std::move(rest).error();
        auto last = forwarder::response_to_last(*req);
        if (last) co_return *std::move(last);
        const detail::passed_upgrade switching(*req, self->how_.options().upgrades);
        const bool has_body = !req->body().ended();
        std::vector<detail::upstream*> tried;
        std::optional<error> failure;
        while (tried.size() < to.options().tries) {
            detail::upstream* const u = to.choose(*req, tried, loop::current()->now());
            if (u == nullptr) break;
            tried.push_back(u);
            const std::string there = forwarder::address_of(self->base_of(*u), *rest);
            if (there.empty()) co_return forwarder::bad_request(*req);
            req->emplace_data<use>(*u);
            auto calling = forwarder::response_to(self->how_.make(*req, there, switching), req);
            auto came = co_await std::move(calling);
            if (came) {
                to.succeeded(*u);
                co_return self->how_.pass_back(*std::move(came), *req, switching);
            }
            throw_failure_of_body(*req);
            failure = std::move(came).error();
            if (is_of_our_client(*failure)) break;
            // A client that takes its time to send says nothing of the upstream.
            const bool is_slow_body =
                has_body && *failure == std::errc::timed_out && failure->phase() == phase::send;
            if (!is_slow_body) to.failed(*u, loop::current()->now());
            if (!may_go_elsewhere(*failure, *req, has_body)) break;
        }
        if (failure) co_return failure_of(*req, *failure);
        co_return detail::error_response(*req, status::service_unavailable);
    }

    forwarder how_;
    upstreams::group* to_;
    std::vector<base_address> bases_;
};

}  // namespace

handler forward_to(client& client, std::string_view base, forward_options o) {
    auto there = url::parse(base);
    if (!there) throw_exception(std::move(there).error());
    return forward_to_one(client, *there, o);
}

handler forward_to(upstreams& to, forward_options o) {
    return forward_to_any(to.all(), o);
}

}  // namespace coracle::http
