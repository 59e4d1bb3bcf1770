#include "http/client/transport.hpp"

#include "http/client/auth/proxy_login.hpp"

#include <utility>

namespace coracle::http::detail {
namespace {

bool same_files(const certificate_options& a, const certificate_options& b) noexcept {
    return a.certificate == b.certificate && a.certificate_type == b.certificate_type &&
           a.key == b.key && a.key_type == b.key_type && a.key_password == b.key_password &&
           a.authorities == b.authorities && a.authority_folder == b.authority_folder;
}

tls::encoding encoding_of(std::string_view curl_type) noexcept {
    if (curl_type == "PEM") return tls::encoding::pem;
    if (curl_type == "DER") return tls::encoding::der;
    if (curl_type == "P12") return tls::encoding::pkcs12;
    if (curl_type == "ENG" || curl_type == "PROV") return tls::encoding::provider;
    return tls::encoding::any;
}

std::unique_ptr<tls::client_context> make_tls(const client_options& o,
                                              const certificate_options& files, bool insecure) {
    tls::client_options t;
    t.insecure = insecure;
    t.handshake_limit = o.tls_timeout > duration::zero() ? o.tls_timeout : std::chrono::hours(24);
    t.protocols = {"http/1.1"};
    t.provider = o.engine;
    t.identity.certificate_encoding = encoding_of(files.certificate_type);
    t.identity.key_encoding = encoding_of(files.key_type);
    t.authority_folder = files.authority_folder;
    t.identity.certificate = files.certificate;
    t.identity.key = files.key;
    t.identity.password = files.key_password;
    t.authorities = files.authorities;
    t.system_authorities = files.authorities.empty() && files.authority_folder.empty();
    return std::make_unique<tls::client_context>(std::move(t));
}

}  // namespace

bool transport::same(const client_options& a, const client_options& b) noexcept {
    return a.insecure == b.insecure && a.engine == b.engine && a.tls_timeout == b.tls_timeout &&
           same_files(a.certificates, b.certificates) && a.proxy == b.proxy &&
           a.no_proxy == b.no_proxy && a.proxy_from_environment == b.proxy_from_environment &&
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
    connect::overrides known;
    for (const std::string& entry : o.resolve) {
        auto added = known.add(entry);
        if (!added) return std::unexpected(std::move(added).error());
    }
    if (!known.empty()) t->connecting_.resolve(std::move(known));
    t->connecting_.only(o.family).unix_socket(o.unix_socket).interface_name(o.interface_name);
    t->connecting_.limit(duration::max());
    // What was given is looked at now; the authorities of the system take their time.
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
    if (!o.engine.empty() || !same_files(o.certificates, none)) {
        auto made = t->tls();
        if (!made) return std::unexpected(std::move(made).error());
    }
    return t;
}

std::expected<tls::client_context*, error> transport::tls() const {
    const std::lock_guard lock(tls_guard_);
    try {
        if (tls_ == nullptr) tls_ = make_tls(options_, options_.certificates, options_.insecure);
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return tls_.get();
}

std::expected<std::shared_ptr<tls::client_context>, error> transport::tls_to_proxy() const {
    const std::lock_guard lock(tls_guard_);
    try {
        // What `insecure` is said of is the origin: the proxy gets the credentials.
        if (proxy_tls_ == nullptr) {
            proxy_tls_ = make_tls(options_, options_.proxy_certificates, false);
        }
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return proxy_tls_;
}

std::shared_ptr<connect::proxy_authenticator> transport::login_for(const connect::proxy& p) const {
    const std::lock_guard lock(tls_guard_);
    auto& login = logins_[p.to_string()];
    if (login == nullptr) {
        credentials who = options_.proxy_authentication;
        if (who.user.empty() && who.scheme == auth_scheme::digest) {
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
    if (!who.user.empty()) p.credentials(who.user, who.password);
    // Of these the proxy must not find the password sent as Basic has it.
    if (who.scheme == auth_scheme::digest || who.scheme == auth_scheme::bearer) {
        if (!p.is_http()) {
            error e(std::errc::invalid_argument, "proxy");
            e.on("proxy_authentication: a proxy of SOCKS is given a user and a password");
            return std::unexpected(std::move(e));
        }
        p.authenticator(login_for(p));
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
