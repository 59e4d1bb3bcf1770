#include "http/client/transport.hpp"

#include "connect/client_setup.hpp"
#include "http/client/auth/proxy_login.hpp"

#include <algorithm>
#include <utility>

namespace coracle::http::detail {

using coracle::connect::detail::same_files;

namespace {

std::vector<std::string> protocols_of(version_choice v) {
    switch (v) {
        case version_choice::http_1_1: return {"http/1.1"};
        case version_choice::http_2: return {"h2"};
        default: return {"h2", "http/1.1"};
    }
}

std::unexpected<error> unfit_context(const std::string& why) {
    error e(std::errc::invalid_argument, "request");
    return std::unexpected(std::move(e.on("client_options::tls_context offers " + why)));
}

/// Narrows `wanted` to what the caller's context offers, where it says.
std::expected<std::vector<std::string>, error> offered_by(const tls::client_context& c,
                                                          std::vector<std::string> wanted) {
    const auto& its = c.options().protocols;
    for (const std::string& p : its) {
        // ALPN may offer only protocols that the connection will use.
        if (p != "http/1.1" && p != "h2") return unfit_context("another protocol: " + p);
    }
    if (its.empty()) return wanted;
    std::erase_if(wanted,
                  [&its](const std::string& p) { return std::ranges::find(its, p) == its.end(); });
    if (wanted.empty()) return unfit_context(its.front() + " alone, which this call cannot use");
    return wanted;
}

std::unique_ptr<tls::client_context> make_tls(const client_options& o,
                                              const certificate_options& files, bool insecure,
                                              std::vector<std::string> protocols) {
    tls::client_options t = coracle::connect::detail::tls_options_of(o.tls, files, o.engine);
    t.insecure = insecure;
    t.handshake_timeout = o.tls_timeout > duration::zero() ? o.tls_timeout : std::chrono::hours(24);
    t.protocols = std::move(protocols);
    return std::make_unique<tls::client_context>(std::move(t));
}

}  // namespace

bool transport::same(const client_options& a, const client_options& b) noexcept {
    // Sessions of HTTP/2 have the limits of a head.
    return a.head_limit == b.head_limit && a.field_limit == b.field_limit &&
           a.interim_limit == b.interim_limit && a.http_version == b.http_version &&
           a.insecure == b.insecure && a.engine == b.engine && a.tls == b.tls &&
           a.tls_context == b.tls_context && a.sockets == b.sockets &&
           a.tls_timeout == b.tls_timeout && same_files(a.certificates, b.certificates) &&
           a.proxy == b.proxy && a.no_proxy == b.no_proxy &&
           a.proxy_from_environment == b.proxy_from_environment &&
           a.proxy_authentication.scheme == b.proxy_authentication.scheme &&
           a.proxy_authentication.user == b.proxy_authentication.user &&
           a.proxy_authentication.password == b.proxy_authentication.password &&
           same_files(a.proxy_certificates, b.proxy_certificates) &&
           a.unix_socket == b.unix_socket && a.resolve == b.resolve &&
           a.interface_name == b.interface_name && a.family == b.family;
}

std::expected<std::shared_ptr<const transport>, error> transport::make(
    const client_options& o, const connect::proxy_environment& environment) {
    std::shared_ptr<transport> t(new transport);
    t->options_ = o;
    t->protocols_ = protocols_of(o.http_version);
    if (o.tls_context != nullptr) {
        auto offered = offered_by(*o.tls_context, t->protocols_);
        if (offered)
            t->protocols_ = *std::move(offered);
        else
            t->unfit_context_ = std::move(offered).error();
    }
    t->offers_http_2_ = !t->unfit_context_ && t->protocols_.front() == "h2";
    connect::overrides known;
    for (const std::string& entry : o.resolve) {
        auto added = known.add(entry);
        if (!added) return std::unexpected(std::move(added).error());
    }
    if (!known.empty()) t->connecting_.resolve(std::move(known));
    t->connecting_.socket(coracle::connect::detail::socket_options_of(o.sockets));
    t->connecting_.only(o.family).unix_socket(o.unix_socket).interface_name(o.interface_name);
    t->connecting_.timeout(duration::max());
    // Certificates of the options are checked now; the authorities of the system, which take
    // longer, later.
    const certificate_options none;
    if (!o.proxy.empty()) {
        auto p = connect::proxy::parse(o.proxy.reveal());
        auto introduced = p ? t->introduce(*std::move(p)) : std::unexpected(std::move(p).error());
        if (!introduced) return std::unexpected(std::move(introduced).error());
        t->proxy_ = *std::move(introduced);
    } else if (o.proxy_from_environment) {
        t->environment_ = &environment;
        if (!same_files(o.proxy_certificates, none)) {
            auto made = t->tls_to_proxy();
            if (!made) return std::unexpected(std::move(made).error());
        }
    }
    const bool has_options_of_tls =
        !o.engine.empty() || o.tls != client_tls_options() || !same_files(o.certificates, none);
    if (o.tls_context == nullptr && has_options_of_tls) {
        auto made = t->tls();
        if (!made) return std::unexpected(std::move(made).error());
    }
    return t;
}

bool transport::may_coalesce() const noexcept {
    const client_options& o = options_;
    return offers_http_2_ && o.tls_context == nullptr && o.certificates.certificate.empty() &&
           !o.insecure && o.unix_socket.empty() && o.resolve.empty();
}

std::expected<tls::client_context*, error> transport::tls() const {
    if (unfit_context_) return std::unexpected(*unfit_context_);
    if (options_.tls_context != nullptr) return options_.tls_context.get();
    const std::lock_guard lock(tls_guard_);
    try {
        if (tls_ == nullptr)
            tls_ = make_tls(options_, options_.certificates, options_.insecure, protocols_);
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return tls_.get();
}

std::expected<std::shared_ptr<tls::client_context>, error> transport::tls_to_proxy() const {
    const std::lock_guard lock(tls_guard_);
    try {
        // `insecure` refers to the origin only: the proxy gets credentials, so it is verified.
        if (proxy_tls_ == nullptr) {
            proxy_tls_ = make_tls(options_, options_.proxy_certificates, false, {"http/1.1"});
        }
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return proxy_tls_;
}

std::shared_ptr<connect::proxy_authenticator> transport::login_for(const connect::proxy& p) const {
    const std::lock_guard lock(tls_guard_);
    // Each user of a proxy has a login of its own.
    auto& login = logins_[p.to_string() + '\0' + p.user()];
    if (login == nullptr) {
        credentials who = options_.proxy_authentication;
        if (!p.user().empty() && who.scheme == auth_scheme::digest) {
            who.user = p.user();
            who.password = p.password();
        }
        login = std::make_shared<proxy_login>(std::move(who));
    }
    return login;
}

std::expected<std::shared_ptr<const connect::proxy>, error> transport::introduce(
    connect::proxy p) const {
    const credentials& who = options_.proxy_authentication;
    if (who.scheme == auth_scheme::bearer && who.password.empty()) {
        error e(std::errc::invalid_argument, "option");
        e.on("proxy_authentication_secret wants a token for Bearer");
        return std::unexpected(std::move(e));
    }
    const bool has_own = !p.user().empty() || !p.password().empty();
    const bool has_some = !who.user.empty() || !who.password.empty();
    if (!has_own && has_some && who.scheme != auth_scheme::bearer) {
        p.credentials(who.user, who.password);
    }
    // With these schemes the password must not be sent to the proxy as Basic.
    if (who.scheme == auth_scheme::digest || who.scheme == auth_scheme::bearer) {
        if (!p.is_http()) {
            error e(std::errc::invalid_argument, "proxy");
            e.on("proxy_authentication: a proxy of SOCKS is given a user and a password");
            return std::unexpected(std::move(e));
        }
        p.authenticator(login_for(p));
    } else if (p.is_http() && p.user().find(':') != std::string::npos) {
        // RFC 7617 section 2.
        error e(std::errc::invalid_argument, "proxy");
        return std::unexpected(std::move(e.on("a colon in the proxy's user")));
    }
    if (p.kind() == connect::proxy_kind::https) {
        auto context = tls_to_proxy();
        if (!context) return std::unexpected(std::move(context).error());
        p.tls(*std::move(context));
    }
    return std::make_shared<const connect::proxy>(std::move(p));
}

std::expected<std::shared_ptr<const connect::proxy>, error> transport::proxy_for(
    std::string_view scheme, std::string_view host, std::uint16_t port) const {
    if (!options_.unix_socket.empty() || connect::bypasses_proxy(options_.no_proxy, host, port)) {
        return nullptr;
    }
    if (environment_ == nullptr) return proxy_;
    auto found = environment_->find(scheme, host, port);
    return found && *found != nullptr ? introduce(**found) : found;
}

}  // namespace coracle::http::detail
