#include "support/test_ca.hpp"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <cstdio>

namespace coracle::testing {
namespace {

template <class F>
std::string written(F&& f) {
    BIO* const memory = BIO_new(BIO_s_mem());
    f(memory);
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(memory);
    return text;
}

void add_extension(X509* to, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context{};
    X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
    X509_EXTENSION* const e = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    X509_add_ext(to, e, -1);
    X509_EXTENSION_free(e);
}

X509* unsigned_certificate(EVP_PKEY* key, const std::string& name, long since, long until) {
    X509* const x = X509_new();
    X509_set_version(x, X509_VERSION_3);
    BIGNUM* const serial = BN_new();
    BN_rand(serial, 120, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY);
    BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(x));
    BN_free(serial);
    X509_gmtime_adj(X509_getm_notBefore(x), since);
    X509_gmtime_adj(X509_getm_notAfter(x), until);
    X509_set_pubkey(x, key);
    if (!name.empty()) {
        X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    }
    return x;
}

bool is_address(const std::string& name) {
    return name.find(':') != std::string::npos ||
           name.find_first_not_of("0123456789.") == std::string::npos;
}

X509* read_certificate(const tls::certificate_source& s) {
    BIO* const memory = BIO_new_mem_buf(s.certificate.data(), -1);
    X509* const x = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
    BIO_free(memory);
    return x;
}

EVP_PKEY* read_key(const tls::certificate_source& s) {
    BIO* const memory = BIO_new_mem_buf(s.key.reveal().data(), -1);
    EVP_PKEY* const key = PEM_read_bio_PrivateKey(memory, nullptr, nullptr, nullptr);
    BIO_free(memory);
    return key;
}

}  // namespace

struct test_ca::parts {
    EVP_PKEY* key;
    X509* certificate;
    std::string pem;
};

test_ca::test_ca(const std::string& name, const test_ca* above)
    : parts_(std::make_unique<parts>()) {
    parts_->key = EVP_EC_gen("P-256");
    X509* const x = unsigned_certificate(parts_->key, name, -7200, 3600L * 24 * 365 * 40);
    X509_set_issuer_name(x, X509_get_subject_name(above ? above->parts_->certificate : x));
    add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign");
    add_extension(x, x, NID_subject_key_identifier, "hash");
    X509_sign(x, above ? above->parts_->key : parts_->key, EVP_sha256());
    parts_->certificate = x;
    parts_->pem = written([x](BIO* to) { PEM_write_bio_X509(to, x); });
}

test_ca::~test_ca() {
    X509_free(parts_->certificate);
    EVP_PKEY_free(parts_->key);
}

const std::string& test_ca::pem() const noexcept {
    return parts_->pem;
}

tls::certificate_source test_ca::issue(const certificate_request& r) const {
    EVP_PKEY* const key = r.rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    const std::string subject = r.common_name ? r.names.front() : std::string();
    X509* const x = unsigned_certificate(key, subject, r.valid_since, r.valid_for);
    X509_set_issuer_name(x, X509_get_subject_name(parts_->certificate));
    std::string names;
    for (const std::string& name : r.names) {
        names += (names.empty() ? "" : ",") + std::string(is_address(name) ? "IP:" : "DNS:") + name;
    }
    if (r.alternative_names) add_extension(x, parts_->certificate, NID_subject_alt_name, names);
    add_extension(x, parts_->certificate, NID_basic_constraints, "CA:FALSE");
    add_extension(x, parts_->certificate, NID_ext_key_usage, "serverAuth,clientAuth");
    add_extension(x, parts_->certificate, NID_authority_key_identifier, "keyid");
    X509_sign(x, parts_->key, EVP_sha256());
    tls::certificate_source s;
    s.certificate = written([x](BIO* to) { PEM_write_bio_X509(to, x); });
    s.key = secret(written([key](BIO* to) {
        PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr);
    }));
    X509_free(x);
    EVP_PKEY_free(key);
    return s;
}

std::string test_ca::revocations(const std::vector<tls::certificate_source>& revoked,
                                 long valid_for) const {
    X509_CRL* const list = X509_CRL_new();
    X509_CRL_set_version(list, X509_CRL_VERSION_2);
    X509_CRL_set_issuer_name(list, X509_get_subject_name(parts_->certificate));
    ASN1_TIME* const at = X509_gmtime_adj(nullptr, -7200);
    X509_CRL_set1_lastUpdate(list, at);
    X509_gmtime_adj(at, valid_for);
    X509_CRL_set1_nextUpdate(list, at);
    X509_gmtime_adj(at, -3600);
    for (const tls::certificate_source& one : revoked) {
        X509* const x = read_certificate(one);
        X509_REVOKED* const entry = X509_REVOKED_new();
        X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(x));
        X509_REVOKED_set_revocationDate(entry, at);
        X509_CRL_add0_revoked(list, entry);
        X509_free(x);
    }
    ASN1_TIME_free(at);
    X509_CRL_sort(list);
    X509_CRL_sign(list, parts_->key, EVP_sha256());
    std::string pem = written([list](BIO* to) { PEM_write_bio_X509_CRL(to, list); });
    X509_CRL_free(list);
    return pem;
}

std::string to_pkcs12(const tls::certificate_source& s, const std::string& password) {
    X509* const x = read_certificate(s);
    EVP_PKEY* const key = read_key(s);
    PKCS12* const p = PKCS12_create(password.c_str(), "test", key, x, nullptr, 0, 0, 0, 0, 0);
    std::string der = written([p](BIO* to) { i2d_PKCS12_bio(to, p); });
    PKCS12_free(p);
    EVP_PKEY_free(key);
    X509_free(x);
    return der;
}

std::string certificate_der(const tls::certificate_source& s) {
    X509* const x = read_certificate(s);
    std::string der = written([x](BIO* to) { i2d_X509_bio(to, x); });
    X509_free(x);
    return der;
}

std::string key_der(const tls::certificate_source& s) {
    EVP_PKEY* const key = read_key(s);
    std::string der = written([key](BIO* to) { i2d_PrivateKey_bio(to, key); });
    EVP_PKEY_free(key);
    return der;
}

std::string encrypted_key(const tls::certificate_source& s, const std::string& password) {
    EVP_PKEY* const key = read_key(s);
    std::string pem = written([&](BIO* to) {
        PEM_write_bio_PKCS8PrivateKey(to, key, EVP_aes_256_cbc(), password.data(),
                                      static_cast<int>(password.size()), nullptr, nullptr);
    });
    EVP_PKEY_free(key);
    return pem;
}

std::string hashed_name(const std::string& pem) {
    BIO* const memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    X509* const x = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
    char name[32];
    std::snprintf(name, sizeof name, "%08lx.0", X509_subject_name_hash(x));
    X509_free(x);
    BIO_free(memory);
    return name;
}

}  // namespace coracle::testing
