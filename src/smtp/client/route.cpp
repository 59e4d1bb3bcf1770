#include "smtp/client/route.hpp"

#include "connect/client_setup.hpp"
#include "connect/names.hpp"

#include <algorithm>
#include <utility>

namespace coracle::smtp::detail {
namespace {

constexpr std::uint16_t smtp_port = 25;
constexpr std::uint16_t lmtp_port = 24;  // RFC 2033 leaves it open; IANA's private mail system

std::unexpected<error> refuse(std::string_view what) {
    return std::unexpected(error(std::errc::invalid_argument, "url:").on(what));
}

bool is_host_text(std::string_view text) noexcept {
    return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::unique_ptr<tls::client_context> make_tls(const client_options& o,
                                              const connect::certificate_options& files,
                                              bool insecure) {
    tls::client_options t = connect::detail::tls_options_of(o.tls, files, o.engine);
    t.insecure = insecure;
    t.handshake_timeout = o.tls_timeout > duration::zero() ? o.tls_timeout : std::chrono::hours(24);
    return std::make_unique<tls::client_context>(std::move(t));
}

/// "mx:", or "mx:2525" where the hosts listen elsewhere.
std::expected<server_address, error> parse_mx(std::string_view text) {
    server_address s;
    s.kind = protocol::mx;
    s.port = smtp_port;
    if (text.empty()) return s;
    const auto port = connect::read_port(text);
    if (!port) return refuse("mx:, or mx:PORT, is wanted");
    s.port = *port;
    return s;
}

}  // namespace

std::expected<server_address, error> server_address::parse(std::string_view text) {
    if (text.starts_with("mx:")) return parse_mx(text.substr(3));
    auto read = url::parse(text);
    if (!read) return std::unexpected(std::move(read).error());
    server_address s;
    if (read->scheme() == "smtps") {
        s.kind = protocol::smtps;
    } else if (read->scheme() == "lmtp") {
        s.kind = protocol::lmtp;
    } else if (read->scheme() != "smtp") {
        return std::unexpected(error(std::errc::protocol_not_supported, "url:")
                                   .on("smtp, smtps, lmtp or mx is wanted"));
    }
    s.host = read->host();
    s.port = read->port() != 0 ? read->port() : lmtp_port;
    if (s.host.empty()) return refuse("it names no host");
    s.user = read->user();
    s.password = secret(std::string(read->password()));
    return s;
}

bool route::same(const client_options& a, const client_options& b) noexcept {
    using connect::detail::same_files;
    return a.insecure == b.insecure && a.engine == b.engine && a.tls == b.tls &&
           a.tls_context == b.tls_context && a.sockets == b.sockets &&
           a.tls_timeout == b.tls_timeout && a.resolve_timeout == b.resolve_timeout &&
           same_files(a.certificates, b.certificates) && a.proxy == b.proxy &&
           a.no_proxy == b.no_proxy && a.proxy_from_environment == b.proxy_from_environment &&
           same_files(a.proxy_certificates, b.proxy_certificates) &&
           a.unix_socket == b.unix_socket && a.resolve == b.resolve &&
           a.interface_name == b.interface_name && a.family == b.family &&
           a.starttls == b.starttls && a.hello == b.hello && a.authentication == b.authentication &&
           a.require_tls == b.require_tls && a.reply_line_limit == b.reply_line_limit &&
           a.reply_lines_limit == b.reply_lines_limit && a.verbose == b.verbose;
}

bool route::has_certificate() const {
    if (options_.tls_context != nullptr) {
        return options_.tls_context->has_identity();
    }
    return !options_.certificates.certificate.empty();
}

std::expected<void, error> route::find_proxy(const connect::proxy_environment& environment) {
    const client_options& o = options_;
    if (!o.unix_socket.empty() || connect::bypasses_proxy(o.no_proxy, to_.host, to_.port)) {
        return {};
    }
    std::shared_ptr<const connect::proxy> found;
    if (!o.proxy.empty()) {
        auto p = connect::proxy::parse(o.proxy.reveal());
        if (!p) return std::unexpected(std::move(p).error());
        found = std::make_shared<const connect::proxy>(*std::move(p));
    } else if (o.proxy_from_environment) {
        auto p = environment.find("smtp", to_.host, to_.port);
        if (!p) return std::unexpected(std::move(p).error());
        found = *std::move(p);
    }
    if (found == nullptr) return {};
    connect::proxy copy = *found;
    // `insecure` is about the server: the proxy gets the credentials.
    if (copy.kind() == connect::proxy_kind::https) {
        copy.tls(make_tls(o, o.proxy_certificates, false));
    }
    connecting_.proxy(std::move(copy));
    return {};
}

std::expected<std::shared_ptr<const route>, error> route::make(
    const server_address& to, const client_options& o,
    const connect::proxy_environment& environment, const route* sibling) {
    // Before anything is sent: it stands in the first command.
    if (!is_host_text(o.hello)) {
        error e(std::errc::invalid_argument, "option");
        return std::unexpected(std::move(e.on("hello")));
    }
    std::shared_ptr<route> r(new route);
    r->to_ = to;
    r->tls_ = sibling != nullptr ? sibling->tls_ : std::make_shared<shared_tls>();
    r->options_ = o;
    connect::overrides known;
    for (const std::string& entry : o.resolve) {
        auto added = known.add(entry);
        if (!added) return std::unexpected(std::move(added).error());
    }
    if (!known.empty()) r->connecting_.resolve(std::move(known));
    r->connecting_.socket(connect::detail::socket_options_of(o.sockets));
    r->connecting_.only(o.family).unix_socket(o.unix_socket).interface_name(o.interface_name);
    r->connecting_.timeout(duration::max());
    if (o.resolve_timeout > duration::zero()) r->connecting_.resolve_timeout(o.resolve_timeout);
    try {
        if (auto found = r->find_proxy(environment); !found) {
            return std::unexpected(std::move(found).error());
        }
        // Given files are read now; the authorities of the system take their time.
        const connect::certificate_options none;
        const bool given = !o.engine.empty() || o.tls != connect::client_tls_options() ||
                           !connect::detail::same_files(o.certificates, none);
        if (o.tls_context == nullptr && given) {
            if (auto made = r->tls(); !made) return std::unexpected(std::move(made).error());
        }
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return r;
}

std::expected<tls::client_context*, error> route::tls() const {
    if (options_.tls_context != nullptr) return options_.tls_context.get();
    const std::lock_guard lock(tls_->guard);
    auto& context = tls_->context;
    try {
        if (context == nullptr) {
            context = make_tls(options_, options_.certificates, options_.insecure);
        }
    } catch (const exception& e) {
        return std::unexpected(e.error());
    }
    return context.get();
}

}  // namespace coracle::smtp::detail
