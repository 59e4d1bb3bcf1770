#include "tls/certificate.hpp"
#include "tls/client_context.hpp"
#include "tls/encrypted_stream.hpp"
#include "tls/message_watch.hpp"
#include "tls/server_context.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <openssl/sslerr.h>

#include <new>

namespace coracle::tls {
namespace detail {
namespace {

errc kind_of_certificate_failure(long why) noexcept {
    switch (why) {
        case X509_V_ERR_CERT_HAS_EXPIRED: return errc::certificate_expired;
        case X509_V_ERR_CERT_NOT_YET_VALID: return errc::certificate_not_yet_valid;
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return errc::certificate_self_signed;
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_UNTRUSTED: return errc::certificate_untrusted;
        case X509_V_ERR_CERT_REVOKED: return errc::certificate_revoked;
        case X509_V_ERR_HOSTNAME_MISMATCH: return errc::certificate_for_another_host;
        case X509_V_ERR_IP_ADDRESS_MISMATCH: return errc::certificate_for_another_address;
        default: return errc::certificate_invalid;
    }
}

std::string names_of(const certificate& c) {
    std::string list;
    for (const std::string& name : c.names()) list += (list.empty() ? "" : ", ") + name;
    if (!list.empty()) return "it is for " + list;
    return "it names no host as subjectAltName: " + c.subject();
}

}  // namespace

int remember_refusal(int good, X509_STORE_CTX* verification) {
    if (good == 1) return 1;
    auto* const s = static_cast<SSL*>(
        X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto& self = *static_cast<encrypted_stream*>(SSL_get_app_data(s));
    try {
        self.note_refusal(verification);
    } catch (const std::bad_alloc&) {
        return 0;  // no exception may cross OpenSSL; it is refused without a name
    }
    return 0;
}

void encrypted_stream::note_refusal(X509_STORE_CTX* verification) {
    const certificate c = certificate_of(X509_STORE_CTX_get_current_cert(verification));
    if (!c) return;
    const int why = X509_STORE_CTX_get_error(verification);
    const std::string reason = X509_verify_cert_error_string(why);
    switch (kind_of_certificate_failure(why)) {
        case errc::certificate_for_another_host:
        case errc::certificate_for_another_address: refusal_ = names_of(c); break;
        case errc::certificate_self_signed: refusal_ = c.subject() + ": " + reason; break;
        default: refusal_ = c.subject() + " by " + c.issuer() + ": " + reason; break;
    }
}

/// Makes an error of OpenSSL's last failure, with the peer's certificate if that is the cause.
error encrypted_stream::handshake_failure() {
    if (write_error_ < 0) {
        ERR_clear_error();
        return {code_of(write_error_), "handshake", phase::tls};
    }
    const unsigned long first = ERR_peek_error();
    const bool by_certificate = ERR_GET_LIB(first) == ERR_LIB_SSL &&
                                ERR_GET_REASON(first) == SSL_R_CERTIFICATE_VERIFY_FAILED;
    if (!by_certificate) return take_failure(errc::handshake_failure, "handshake");
    ERR_clear_error();
    const long why = SSL_get_verify_result(ssl_.get());
    error e(make_error_code(kind_of_certificate_failure(why)), "handshake", phase::tls);
    return std::move(e.on(refusal_.empty() ? X509_verify_cert_error_string(why) : refusal_));
}

task<std::expected<void, error>> encrypted_stream::handshake() {
    // Sends a flight in one call.
    gathers_ = true;
    for (;;) {
        ERR_clear_error();
        const int result = SSL_do_handshake(ssl_.get());
        const bool wants_more =
            result != 1 && SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
        error failure;
        if (result != 1 && !wants_more) failure = handshake_failure();
        if (!out_.empty()) {
            // Also when it failed: the alert has the reason for the peer.
            net::send flight = below_->send(out_.view());
            auto sent = co_await as_result(flight);
            out_.release();
            if (!sent && failure.code() == std::error_code()) failure = sent.error().in(phase::tls);
        }
        if (failure.code() != std::error_code()) co_return std::unexpected(std::move(failure));
        if (result == 1) break;
        in_.release();
        net::receive more = below_->receive();
        auto came = co_await as_result(more);
        if (!came) co_return std::unexpected(came.error().in(phase::tls));
        in_ = std::move(*came);
    }
    gathers_ = false;
    established_ = true;
    co_return std::expected<void, error>();
}

namespace {

using stream_result = std::expected<std::unique_ptr<stream>, error>;

task<stream_result> shake_hands(std::unique_ptr<encrypted_stream> s, duration limit,
                                std::string subject) {
    const auto shake = [&s] { return s->handshake(); };
    auto done = co_await as_result(with_timeout(limit, shake));
    if (!done || !*done) {
        error e = done ? std::move(*done).error() : std::move(done).error();
        e.in(phase::tls);
        // Appends the subject of the failure to the name of the peer.
        const std::string what(e.subject());
        e.on(what.empty() ? subject : subject + " (" + what + ')');
        co_return std::unexpected(std::move(e));
    }
    co_return stream_result(std::move(s));
}

}  // namespace
}  // namespace detail

operation<std::unique_ptr<stream>> accept(server_context& c,
                                          std::unique_ptr<net::byte_stream> beneath,
                                          buffer received) {
    detail::ssl_ptr s = c.internal().make();
    SSL_set_accept_state(s.get());
    std::string peer = beneath->peer().to_string();
    auto encrypted = std::make_unique<detail::encrypted_stream>(std::move(s), std::move(beneath),
                                                                std::move(received), c.options());
    return detail::shake_hands(std::move(encrypted), c.options().handshake_timeout,
                               std::move(peer));
}

operation<std::unique_ptr<stream>> connect(client_context& c,
                                           std::unique_ptr<net::byte_stream> beneath,
                                           std::string_view host,
                                           const std::vector<std::string>& protocols) {
    const std::string name(host);
    auto s = c.internal().make(name, protocols);
    if (!s) return detail::stream_result(std::unexpected(std::move(s).error()));
    SSL_set_connect_state(s->get());
    if (c.options().insecure) {
        beneath->owner().log().write(log_layer::tls, log_level::warning,
                                     "insecure: the certificate of " + name + " is not verified");
    }
    auto encrypted = std::make_unique<detail::encrypted_stream>(std::move(*s), std::move(beneath),
                                                                buffer(), c.options());
    return detail::shake_hands(std::move(encrypted), c.options().handshake_timeout, name);
}

}  // namespace coracle::tls
