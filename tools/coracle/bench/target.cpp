#include "target.hpp"

#include "settings.hpp"

#include <coracle/http/h1.hpp>

#include <chrono>
#include <string_view>

namespace coracle::tool::bench {
namespace {

/// The request of HTTP/1.1, with the fields that the client adds to each.
std::string message_of(const planned_request& r, const load_plan& plan) {
    const std::string authority(plan.what.origin.authority());
    const std::string length = std::to_string(r.body.size());
    std::vector<http::field> fields;
    if (!r.has_field("Host")) fields.push_back({"Host", authority});
    if (!r.has_field("User-Agent") && !plan.client.user_agent.empty()) {
        fields.push_back({"User-Agent", plan.client.user_agent});
    }
    if (!r.has_field("Accept")) fields.push_back({"Accept", "*/*"});
    for (const auto& [name, value] : r.fields) fields.push_back({name, value});
    const bool has_content = r.method == "POST" || r.method == "PUT" || r.method == "PATCH";
    if (has_content || !r.body.empty()) fields.push_back({"Content-Length", length});
    if (plan.new_connections) fields.push_back({"Connection", "close"});
    std::string bytes;
    http::h1::append_request_head(bytes, r.method, r.target, fields);
    return bytes + r.body;
}

/// Throws `failure` for fields that would frame the message otherwise than it is.
void check_fields(const planned_request& r) {
    for (const char* name : {"Content-Length", "Transfer-Encoding"}) {
        if (!r.has_field(name)) continue;
        throw failure(std::string(name) + " cannot be set: the body says it");
    }
}

/// A time limit of the client, where 0 is none.
duration limit_of(duration d) noexcept {
    return d > duration::zero() ? d : std::chrono::hours(24);
}

}  // namespace

target::target(const load_plan& plan)
    : plan_(&plan), host_(plan.what.origin.host()), port_(plan.what.origin.port()) {
    try {
        prepare_requests();
        prepare_connecting();
        prepare_tls();
    } catch (const exception& e) {
        throw failure(std::string(e.error().operation()) + ": " + std::string(e.error().subject()) +
                      ": " + e.error().code().message());
    }
}

void target::prepare_requests() {
    const url& origin = plan_->what.origin;
    std::string base(origin.scheme());
    base.append("://").append(origin.authority());
    for (const planned_request& r : plan_->what.requests) {
        check_fields(r);
        requests_.push_back(
            {http::parse_method(r.method), message_of(r, *plan_), base + r.target, &r});
    }
}

void target::prepare_connecting() {
    const http::client_options& o = plan_->client;
    connect::overrides known;
    for (const std::string& entry : o.resolve) {
        if (auto added = known.add(entry); !added) throw exception(added.error());
    }
    if (!known.empty()) connecting_.resolve(std::move(known));
    socket_options s;
    s.no_delay = o.sockets.no_delay;
    s.send_buffer = static_cast<int>(o.sockets.send_buffer);
    s.receive_buffer = static_cast<int>(o.sockets.receive_buffer);
    connecting_.socket(s).only(o.family).unix_socket(o.unix_socket);
    connecting_.interface_name(o.interface_name).timeout(limit_of(o.connect_timeout));
}

void target::prepare_tls() {
    const std::string_view scheme = plan_->what.origin.scheme();
    if (scheme != "https" || plan_->protocol != load_protocol::http_1_1) return;
    const http::client_options& o = plan_->client;
    tls::client_options t;
    t.minimum = o.tls.minimum;
    t.maximum = o.tls.maximum;
    t.ciphers = o.tls.ciphers;
    t.cipher_suites = o.tls.cipher_suites;
    t.groups = o.tls.groups;
    t.key_log = o.tls.key_log;
    t.provider = o.engine;
    t.identity.certificate = o.certificates.certificate;
    t.identity.key = o.certificates.key;
    t.identity.password = o.certificates.key_password;
    t.authorities = o.certificates.authorities;
    t.authority_folder = o.certificates.authority_folder;
    t.system_authorities = t.authorities.empty() && t.authority_folder.empty();
    t.insecure = o.insecure;
    t.handshake_timeout = limit_of(o.tls_timeout);
    t.protocols = {"http/1.1"};
    tls_ = std::make_unique<tls::client_context>(std::move(t));
}

}  // namespace coracle::tool::bench
