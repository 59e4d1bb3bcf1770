#include "tls/certificate.hpp"

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

namespace coracle::tls {
namespace {

std::string text_of(const X509_NAME* name) {
    const detail::bio_ptr memory(BIO_new(BIO_s_mem()));
    X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
    return detail::text_in(memory.get());
}

std::string text_of(const ASN1_STRING* s) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
            static_cast<std::size_t>(ASN1_STRING_length(s))};
}

std::string hexadecimal(const unsigned char* bytes, std::size_t size) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i != size; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

std::string address_text(const ASN1_OCTET_STRING* s) {
    const unsigned char* const b = ASN1_STRING_get0_data(s);
    const int size = ASN1_STRING_length(s);
    std::string out;
    if (size == 4) {
        for (int i = 0; i != 4; ++i) out += (i == 0 ? "" : ".") + std::to_string(b[i]);
    } else if (size == 16) {
        for (int i = 0; i != 16; i += 2) {
            out += i == 0 ? "" : ":";
            out += hexadecimal(b + i, 2);
        }
    }
    return out;
}

}  // namespace

std::int64_t detail::seconds_of(const ASN1_TIME* t) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(t, &parts) != 1) return 0;
    return timegm(&parts);
}

certificate detail::certificate_of(X509* x) {
    if (x == nullptr) return {};
    X509_up_ref(x);
    return certificate(std::make_shared<certificate::implementation>(x509_ptr(x)));
}

std::string certificate::subject() const {
    return text_of(X509_get_subject_name(inner_->x509.get()));
}

std::string certificate::issuer() const {
    return text_of(X509_get_issuer_name(inner_->x509.get()));
}

std::string certificate::common_name() const {
    X509_NAME* const name = X509_get_subject_name(inner_->x509.get());
    const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (at < 0) return {};
    return text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
}

std::vector<std::string> certificate::names() const {
    std::vector<std::string> all;
    auto* const list = static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(inner_->x509.get(), NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(list); ++i) {
        const GENERAL_NAME* const name = sk_GENERAL_NAME_value(list, i);
        switch (name->type) {
            case GEN_DNS:
            case GEN_EMAIL:
            case GEN_URI: all.push_back(text_of(name->d.ia5)); break;
            case GEN_IPADD: all.push_back(address_text(name->d.iPAddress)); break;
            default: break;
        }
    }
    GENERAL_NAMES_free(list);
    return all;
}

bool certificate::covers(std::string_view host) const {
    const std::string name = detail::name_in_certificates(host);
    X509* const x = inner_->x509.get();
    if (detail::is_ip_address(name)) return X509_check_ip_asc(x, name.c_str(), 0) == 1;
    return X509_check_host(x, name.data(), name.size(), detail::host_flags, nullptr) == 1;
}

std::string certificate::serial() const {
    BIGNUM* const number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(inner_->x509.get()), nullptr);
    char* const text = BN_bn2hex(number);
    std::string copy = text;
    OPENSSL_free(text);
    BN_free(number);
    return copy;
}

std::int64_t certificate::not_before() const {
    return detail::seconds_of(X509_get0_notBefore(inner_->x509.get()));
}

std::int64_t certificate::not_after() const {
    return detail::seconds_of(X509_get0_notAfter(inner_->x509.get()));
}

std::string certificate::fingerprint() const {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    X509_digest(inner_->x509.get(), EVP_sha256(), digest, &size);
    return hexadecimal(digest, size);
}

std::string certificate::endpoint_binding() const {
    int function = NID_undef;
    X509_get_signature_info(inner_->x509.get(), &function, nullptr, nullptr, nullptr);
    if (function == NID_md5 || function == NID_sha1) function = NID_sha256;
    const EVP_MD* const md = EVP_get_digestbynid(function);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (md == nullptr || X509_digest(inner_->x509.get(), md, digest, &size) != 1) return {};
    return {reinterpret_cast<const char*>(digest), size};
}

std::string certificate::der() const {
    unsigned char* bytes = nullptr;
    const int size = i2d_X509(inner_->x509.get(), &bytes);
    if (size <= 0) return {};
    std::string copy(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
    return copy;
}

std::string certificate::pem() const {
    const detail::bio_ptr memory(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(memory.get(), inner_->x509.get());
    return detail::text_in(memory.get());
}

}  // namespace coracle::tls
