#include "tls/self_signed.hpp"

#include "tls/openssl.hpp"

#include <coracle/runtime/loop.hpp>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

namespace coracle::tls {
namespace {

constexpr long valid_for = 30L * 24 * 3600;
/// Clocks differ.
constexpr long valid_since = -3600;

[[noreturn]] void fail() {
    throw_exception(detail::take_failure(errc::bad_option, "self_signed"));
}

std::string alternative_names(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
        if (name.find_first_of(",\n:\\") != std::string::npos && !detail::is_ip_address(name)) {
            throw_exception(error(std::errc::invalid_argument, "self_signed").on(name));
        }
        list += list.empty() ? "" : ",";
        list += detail::is_ip_address(name) ? "IP:" : "DNS:";
        list += name;
    }
    return list;
}

void add_extension(X509* to, int nid, const std::string& value) {
    X509_EXTENSION* const e = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    if (e == nullptr) fail();
    X509_add_ext(to, e, -1);
    X509_EXTENSION_free(e);
}

void set_random_serial(X509* of) {
    BIGNUM* const number = BN_new();
    if (BN_rand(number, 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1) fail();
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(of));
    BN_free(number);
}

void set_name(X509* of, const std::string& common_name) {
    X509_NAME* const subject = X509_get_subject_name(of);
    // RFC 5280, upper bounds: a common name has 64 characters at most.
    const std::string short_name = common_name.substr(0, 64);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(short_name.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(of, subject);
}

void set_month(X509* of) {
    loop* const here = loop::current();
    time_t now = here == nullptr ? 0 : static_cast<time_t>(here->unix_time());
    time_t* const since = here == nullptr ? nullptr : &now;
    X509_time_adj_ex(X509_getm_notBefore(of), 0, valid_since, since);
    X509_time_adj_ex(X509_getm_notAfter(of), 0, valid_for, since);
}

void set_for_ever(X509* of) {
    ASN1_TIME_set(X509_getm_notBefore(of), 0);
    // RFC 5280 section 4.1.2.5: it does not expire.
    ASN1_TIME_set_string(X509_getm_notAfter(of), "99991231235959Z");
}

certificate_source make(const std::vector<std::string>& names, void (*set_times)(X509*)) {
    if (names.empty()) throw_exception(error(std::errc::invalid_argument, "self_signed"));
    const detail::pkey_ptr key(EVP_EC_gen("P-256"));
    const detail::x509_ptr x(X509_new());
    if (key == nullptr || x == nullptr) fail();
    X509_set_version(x.get(), X509_VERSION_3);
    set_random_serial(x.get());
    set_times(x.get());
    X509_set_pubkey(x.get(), key.get());
    set_name(x.get(), names.front());
    add_extension(x.get(), NID_subject_alt_name, alternative_names(names));
    add_extension(x.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    add_extension(x.get(), NID_key_usage, "critical,digitalSignature,keyCertSign");
    add_extension(x.get(), NID_ext_key_usage, "serverAuth,clientAuth");
    if (X509_sign(x.get(), key.get(), EVP_sha256()) == 0) fail();

    certificate_source made;
    const detail::bio_ptr certificate(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(certificate.get(), x.get());
    made.certificate = detail::text_in(certificate.get());
    const detail::bio_ptr private_key(BIO_new(BIO_s_secmem()));
    PEM_write_bio_PrivateKey(private_key.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    made.key = secret(detail::text_in(private_key.get()));
    return made;
}

}  // namespace

certificate_source self_signed(const std::vector<std::string>& names) {
    return make(names, &set_month);
}

certificate_source detail::self_signed_for_ever(const std::vector<std::string>& names) {
    return make(names, &set_for_ever);
}

}  // namespace coracle::tls
