#include "tls/openssl.hpp"

#include <coracle/tls/verifying_key.hpp>

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace coracle::tls {
namespace {

using detail::freed_by;
using detail::pkey_ptr;

using bignum_ptr = std::unique_ptr<BIGNUM, freed_by<BN_free>>;
using builder_ptr = std::unique_ptr<OSSL_PARAM_BLD, freed_by<OSSL_PARAM_BLD_free>>;
using params_ptr = std::unique_ptr<OSSL_PARAM, freed_by<OSSL_PARAM_free>>;
using key_context_ptr = std::unique_ptr<EVP_PKEY_CTX, freed_by<EVP_PKEY_CTX_free>>;
using digest_context_ptr = std::unique_ptr<EVP_MD_CTX, freed_by<EVP_MD_CTX_free>>;
using ecdsa_ptr = std::unique_ptr<ECDSA_SIG, freed_by<ECDSA_SIG_free>>;

constexpr int least_rsa_bits = 2048;    // RFC 7518 section 3.3
constexpr int most_rsa_bits = 8192;     // the cost of verifying grows with their square
constexpr std::size_t coordinate = 32;  // bytes of a number of P-256
constexpr std::size_t largest_file = 64 * 1024;

std::unexpected<error> refuse(errc why, std::string_view what) {
    ERR_clear_error();
    return std::unexpected(error(why, "key").on(what));
}

const unsigned char* bytes_of(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}

bignum_ptr number(std::string_view bytes) {
    return bignum_ptr(BN_bin2bn(bytes_of(bytes), static_cast<int>(bytes.size()), nullptr));
}

/// Returns null if the parts are not a valid key.
pkey_ptr make_key(const char* kind, OSSL_PARAM_BLD* parts) {
    const params_ptr params(OSSL_PARAM_BLD_to_param(parts));
    const key_context_ptr context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
    EVP_PKEY* key = nullptr;
    if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
        EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
        return nullptr;
    }
    return pkey_ptr(key);
}

std::optional<signature_scheme> scheme_of(EVP_PKEY* key) {
    switch (EVP_PKEY_get_base_id(key)) {
        case EVP_PKEY_RSA:
            if (EVP_PKEY_get_bits(key) < least_rsa_bits || EVP_PKEY_get_bits(key) > most_rsa_bits) {
                return std::nullopt;
            }
            return signature_scheme::rsa_sha256;
        case EVP_PKEY_EC: {
            std::array<char, 32> group{};
            std::size_t size = 0;
            if (EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) != 1) return {};
            if (std::string_view(group.data(), size) != SN_X9_62_prime256v1) return {};
            return signature_scheme::ecdsa_p256_sha256;
        }
        case EVP_PKEY_ED25519: return signature_scheme::ed25519;
        default: return std::nullopt;
    }
}

/// Returns the signature in the format of OpenSSL (RFC 3279 section 2.2.3); empty if it is
/// malformed.
std::string to_der(std::string_view raw) {
    if (raw.size() != 2 * coordinate) return {};
    const ecdsa_ptr both(ECDSA_SIG_new());
    bignum_ptr r = number(raw.substr(0, coordinate));
    bignum_ptr s = number(raw.substr(coordinate));
    if (both == nullptr || r == nullptr || s == nullptr ||
        ECDSA_SIG_set0(both.get(), r.get(), s.get()) != 1) {
        return {};
    }
    static_cast<void>(r.release());
    static_cast<void>(s.release());
    const int size = i2d_ECDSA_SIG(both.get(), nullptr);
    if (size <= 0) return {};
    std::string der(static_cast<std::size_t>(size), '\0');
    auto* at = reinterpret_cast<unsigned char*>(der.data());
    i2d_ECDSA_SIG(both.get(), &at);
    return der;
}

pkey_ptr read_pem(std::string_view text) {
    const auto as_key = detail::reading(text);
    if (EVP_PKEY* const key = PEM_read_bio_PUBKEY(as_key.get(), nullptr, nullptr, nullptr)) {
        return pkey_ptr(key);
    }
    const auto again = detail::reading(text);
    const detail::x509_ptr certificate(PEM_read_bio_X509(again.get(), nullptr, nullptr, nullptr));
    return pkey_ptr(certificate == nullptr ? nullptr : X509_get_pubkey(certificate.get()));
}

}  // namespace

class verifying_key::implementation {
public:
    implementation(pkey_ptr key, signature_scheme scheme) : key_(std::move(key)), scheme_(scheme) {}
    EVP_PKEY* key() const noexcept { return key_.get(); }
    signature_scheme scheme() const noexcept { return scheme_; }

    /// `key` may be null.
    static std::shared_ptr<const implementation> of(pkey_ptr key) {
        const auto scheme = key == nullptr ? std::nullopt : scheme_of(key.get());
        ERR_clear_error();
        return scheme ? std::make_shared<const implementation>(std::move(key), *scheme) : nullptr;
    }

private:
    pkey_ptr key_;
    signature_scheme scheme_;
};

std::expected<verifying_key, error> verifying_key::read(std::string_view from) {
    const std::string name(detail::is_inline(from) ? "(given as text)" : from);
    auto text = detail::contents_of(from, "key");
    if (!text) return std::unexpected(std::move(text).error());
    if (text->size() > largest_file) return refuse(errc::key_unreadable, name);
    pkey_ptr key = read_pem(*text);
    if (key == nullptr) return refuse(errc::key_unreadable, name);
    auto made = implementation::of(std::move(key));
    if (made == nullptr) {
        return refuse(errc::bad_option, name +
                                            " is neither RSA of 2048 to 8192 bits, P-256 nor "
                                            "Ed25519");
    }
    return verifying_key(std::move(made));
}

std::expected<verifying_key, error> verifying_key::rsa(std::string_view modulus,
                                                       std::string_view exponent) {
    if (modulus.size() > most_rsa_bits / 8 || exponent.size() > sizeof(std::uint64_t)) {
        return refuse(errc::bad_option, "RSA key");
    }
    const bignum_ptr n = number(modulus);
    const bignum_ptr e = number(exponent);
    const builder_ptr parts(OSSL_PARAM_BLD_new());
    pkey_ptr key;
    if (n != nullptr && e != nullptr && parts != nullptr && BN_is_odd(e.get()) != 0 &&
        OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) == 1 &&
        OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) == 1) {
        key = make_key("RSA", parts.get());
    }
    auto made = implementation::of(std::move(key));
    if (made == nullptr) return refuse(errc::bad_option, "RSA key");
    return verifying_key(std::move(made));
}

std::expected<verifying_key, error> verifying_key::p256(std::string_view x, std::string_view y) {
    if (x.size() != coordinate || y.size() != coordinate) return refuse(errc::bad_option, "EC key");
    // An uncompressed point (SEC 1 section 2.3.3).
    const std::string point = '\x04' + std::string(x) + std::string(y);
    const builder_ptr parts(OSSL_PARAM_BLD_new());
    pkey_ptr key;
    if (parts != nullptr &&
        OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                        SN_X9_62_prime256v1, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                         point.size()) == 1) {
        key = make_key("EC", parts.get());
    }
    auto made = implementation::of(std::move(key));
    if (made == nullptr) return refuse(errc::bad_option, "EC key");
    return verifying_key(std::move(made));
}

std::expected<verifying_key, error> verifying_key::ed25519(std::string_view bytes) {
    auto made = implementation::of(pkey_ptr(
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(bytes), bytes.size())));
    if (made == nullptr) return refuse(errc::bad_option, "Ed25519 key");
    return verifying_key(std::move(made));
}

signature_scheme verifying_key::scheme() const noexcept {
    return inner_->scheme();
}

bool verifying_key::verify(std::string_view text, std::string_view signature) const noexcept {
    try {
        const bool is_ecdsa = scheme() == signature_scheme::ecdsa_p256_sha256;
        const std::string der = is_ecdsa ? to_der(signature) : std::string();
        if (is_ecdsa && der.empty()) return false;
        const std::string_view taken = is_ecdsa ? std::string_view(der) : signature;
        const EVP_MD* const hash = scheme() == signature_scheme::ed25519 ? nullptr : EVP_sha256();
        const digest_context_ptr context(EVP_MD_CTX_new());
        const bool good =
            context != nullptr &&
            EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, inner_->key()) == 1 &&
            EVP_DigestVerify(context.get(), bytes_of(taken), taken.size(), bytes_of(text),
                             text.size()) == 1;
        detail::forget_failures();
        return good;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace coracle::tls
