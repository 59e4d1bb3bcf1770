#include "tls/client_trust.hpp"

#include "tls/certificate.hpp"
#include "tls/digest.hpp"
#include "tls/message_watch.hpp"
#include "tls/settings.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace coracle::tls::detail {
namespace {

std::string digest_of(const std::vector<x509_ptr>& all, const std::vector<crl_ptr>& revoked) {
    std::vector<std::string> fingerprints;
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    for (const x509_ptr& one : all) {
        X509_digest(one.get(), EVP_sha256(), bytes, &size);
        fingerprints.emplace_back(reinterpret_cast<const char*>(bytes), size);
    }
    for (const crl_ptr& one : revoked) {
        X509_CRL_digest(one.get(), EVP_sha256(), bytes, &size);
        fingerprints.emplace_back(reinterpret_cast<const char*>(bytes), size);
    }
    std::ranges::sort(fingerprints);
    std::string together;
    for (const std::string& one : fingerprints) together += one;
    return digest(hash::sha256, {together}).value_or(std::string());
}

std::int64_t validity_of(const std::vector<crl_ptr>& lists) {
    std::int64_t until = std::numeric_limits<std::int64_t>::max();
    for (const crl_ptr& one : lists) {
        const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(one.get());
        if (next != nullptr) until = std::min(until, seconds_of(next));
    }
    return until;
}

}  // namespace

std::expected<client_trust, error> client_trust::read(const server_options& o) {
    client_trust t;
    t.wanted_ = o.clients;
    if (o.clients == client_certificates::none) return t;
    t.store_.reset(X509_STORE_new());
    if (t.store_ == nullptr) throw std::bad_alloc();
    auto authorities = trust(t.store_.get(), o.client_authorities);
    if (!authorities) return std::unexpected(std::move(authorities).error());
    t.authorities_ = *std::move(authorities);
    std::vector<crl_ptr> revoked;
    if (!o.client_revocations.empty()) {
        auto lists = refuse_revoked(t.store_.get(), o.client_revocations);
        if (!lists) return std::unexpected(std::move(lists).error());
        revoked = *std::move(lists);
    }
    t.digest_ = digest_of(t.authorities_, revoked);
    t.until_ = validity_of(revoked);
    return t;
}

void client_trust::apply(SSL_CTX* to) const {
    if (wanted_ == client_certificates::none) return;
    SSL_CTX_set1_cert_store(to, store_.get());
    for (const x509_ptr& a : authorities_) SSL_CTX_add_client_CA(to, a.get());
    const bool must = wanted_ == client_certificates::required;
    SSL_CTX_set_verify(to, SSL_VERIFY_PEER | (must ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                       &remember_refusal);
}

}  // namespace coracle::tls::detail
