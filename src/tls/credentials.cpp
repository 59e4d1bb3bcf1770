#include "tls/credentials.hpp"

#include "base/ascii.hpp"

#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/store.h>
#include <openssl/ui.h>
#include <openssl/x509v3.h>

#include <cstring>

namespace coracle::tls::detail {
namespace {

using store_ptr = std::unique_ptr<OSSL_STORE_CTX, freed_by<OSSL_STORE_close>>;
using pkcs12_ptr = std::unique_ptr<PKCS12, freed_by<PKCS12_free>>;
using info_ptr = std::unique_ptr<OSSL_STORE_INFO, freed_by<OSSL_STORE_INFO_free>>;

struct password_request {
    const secret* password;
    bool asked = false;
};

/// The password callback of OpenSSL; without it OpenSSL would prompt on the terminal.
int give_password(char* to, int size, int, void* user) {
    auto& request = *static_cast<password_request*>(user);
    request.asked = true;
    const std::string_view text = request.password->reveal();
    if (text.empty() || text.size() > static_cast<std::size_t>(size)) return -1;
    std::memcpy(to, text.data(), text.size());
    return static_cast<int>(text.size());
}

struct ui_method {
    ui_method() : method(UI_UTIL_wrap_read_pem_callback(give_password, 0)) {}
    ui_method(const ui_method&) = delete;
    ui_method& operator=(const ui_method&) = delete;
    ~ui_method() { UI_destroy_method(method); }
    UI_METHOD* method;
};

/// Returns a name for messages, which must not show a key.
std::string name_of(std::string_view source) {
    return is_inline(source) ? std::string("(given as text)") : std::string(source);
}

bool is_uri(std::string_view text) noexcept {
    const std::size_t colon = text.find(':');
    return !is_inline(text) && colon != std::string_view::npos && colon > 1 &&
           text.find('/') > colon;
}

/// Returns how many blocks with this label a PEM text announces, good or not.
std::size_t blocks_in(std::string_view pem, std::string_view label) noexcept {
    constexpr std::string_view begin = "-----BEGIN ";
    std::size_t count = 0;
    for (std::size_t at = pem.find(begin); at != pem.npos; at = pem.find(begin, at + 1)) {
        const std::string_view rest = pem.substr(at + begin.size());
        const bool is_line = at == 0 || pem[at - 1] == '\n' || pem[at - 1] == '\r';
        const bool is_labelled =
            rest.starts_with(label) && rest.substr(label.size()).starts_with("-----");
        if (is_line && is_labelled) ++count;
    }
    return count;
}

std::size_t certificates_in(std::string_view pem) noexcept {
    return blocks_in(pem, "CERTIFICATE") + blocks_in(pem, "X509 CERTIFICATE") +
           blocks_in(pem, "TRUSTED CERTIFICATE");
}

bool is_pkcs12(std::string_view bytes) noexcept {
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    const pkcs12_ptr container(d2i_PKCS12(nullptr, &at, static_cast<long>(bytes.size())));
    ERR_clear_error();
    return container != nullptr;
}

bool is_written_as(std::string_view contents, encoding wanted) noexcept {
    const bool pem = contents.find("-----BEGIN ") != std::string_view::npos;
    switch (wanted) {
        case encoding::pem: return pem;
        case encoding::der: return !pem && !is_pkcs12(contents);
        case encoding::pkcs12: return !pem && is_pkcs12(contents);
        case encoding::provider: return false;
        case encoding::any: break;
    }
    return true;
}

/// The certificates and keys of one file or text.
class source_reader {
public:
    source_reader(std::string_view from, encoding written_as, const secret& password)
        : from_(from), encoding_(written_as), request_{&password} {}

    std::expected<void, error> read_into(credentials& to, bool wants_key) {
        const ui_method ui;
        std::expected<std::string, error> text;
        bio_ptr memory;
        store_ptr store;
        const bool may_be_uri = encoding_ == encoding::any || encoding_ == encoding::provider;
        if (may_be_uri && is_uri(from_)) {
            store.reset(OSSL_STORE_open(std::string(from_).c_str(), ui.method, &request_, nullptr,
                                        nullptr));
        } else {
            text = contents_of(from_, "certificate");
            if (!text) return std::unexpected(std::move(text).error());
            if (!is_written_as(*text, encoding_)) {
                wipe(text->data(), text->size());
                return std::unexpected(failure(wants_key, "not in the requested encoding"));
            }
            memory = reading(*text);
            store.reset(OSSL_STORE_attach(memory.get(), "file", nullptr, nullptr, ui.method,
                                          &request_, nullptr, nullptr, nullptr));
        }
        if (store != nullptr) read_all(*store, to);
        const std::size_t announced = text ? certificates_in(*text) : 0;
        if (text) wipe(text->data(), text->size());
        const bool found = wants_key ? to.key != nullptr : to.certificate != nullptr;
        if (!found) return std::unexpected(failure(wants_key, take_reasons()));
        // A part of a file that is cut off, or being written, would be served.
        if (!wants_key && count_ < announced) {
            return std::unexpected(failure(false, "certificate " + std::to_string(count_ + 1) +
                                                      " of " + std::to_string(announced) + ": " +
                                                      take_reasons()));
        }
        ERR_clear_error();
        return {};
    }

private:
    void read_all(OSSL_STORE_CTX& store, credentials& to) {
        while (OSSL_STORE_eof(&store) == 0) {
            const info_ptr info(OSSL_STORE_load(&store));
            if (info == nullptr) {
                if (OSSL_STORE_error(&store) != 0) break;
                continue;
            }
            take(*info, to);
        }
    }

    void take(OSSL_STORE_INFO& info, credentials& to) {
        const int type = OSSL_STORE_INFO_get_type(&info);
        if (type == OSSL_STORE_INFO_PKEY && to.key == nullptr) {
            to.key.reset(OSSL_STORE_INFO_get1_PKEY(&info));
        } else if (type == OSSL_STORE_INFO_CERT) {
            x509_ptr c(OSSL_STORE_INFO_get1_CERT(&info));
            ++count_;
            if (to.certificate == nullptr)
                to.certificate = std::move(c);
            else
                to.chain.push_back(std::move(c));
        }
    }

    error failure(bool wants_key, std::string why) {
        errc kind = wants_key ? errc::key_unreadable : errc::certificate_unreadable;
        if (request_.asked) kind = errc::wrong_password;
        error e(make_error_code(kind), "certificate", phase::tls);
        const std::string name = name_of(from_);
        return std::move(e.on(why.empty() ? name : name + " (" + why + ')'));
    }

    std::string_view from_;
    encoding encoding_;
    password_request request_;
    std::size_t count_ = 0;  ///< certificates
};

/// The PEM blocks up to the first that `read` refuses.
template <class Pointer, class Read>
std::vector<Pointer> read_blocks(const std::string& text, Read read) {
    const bio_ptr memory = reading(text);
    std::vector<Pointer> all;
    while (auto* const one = read(memory.get(), nullptr, nullptr, nullptr)) all.emplace_back(one);
    ERR_clear_error();
    return all;
}

std::unexpected<error> unreadable(const char* operation, const std::string& from) {
    error e(make_error_code(errc::certificate_unreadable), operation, phase::tls);
    return std::unexpected(std::move(e.on(name_of(from))));
}

/// A PKCS#12 file lists its certificates in any order: the one of the key comes first.
void put_own_certificate_first(credentials& c) {
    if (X509_check_private_key(c.certificate.get(), c.key.get()) == 1) return;
    for (x509_ptr& other : c.chain) {
        if (X509_check_private_key(other.get(), c.key.get()) != 1) continue;
        std::swap(c.certificate, other);
        return;
    }
}

}  // namespace

std::expected<credentials, error> read_credentials(const certificate_source& from) {
    credentials c;
    source_reader certificates(from.certificate, from.certificate_encoding, from.password);
    if (auto done = certificates.read_into(c, false); !done) {
        return std::unexpected(std::move(done).error());
    }
    if (!from.key.empty()) {
        credentials keys;
        source_reader reader(from.key.reveal(), from.key_encoding, from.password);
        if (auto done = reader.read_into(keys, true); !done) {
            return std::unexpected(std::move(done).error());
        }
        c.key = std::move(keys.key);
    }
    const std::string name = name_of(from.certificate);
    if (c.key == nullptr) {
        error e(make_error_code(errc::key_unreadable), "certificate", phase::tls);
        return std::unexpected(std::move(e.on(name + " holds no private key")));
    }
    put_own_certificate_first(c);
    if (X509_check_private_key(c.certificate.get(), c.key.get()) != 1) {
        ERR_clear_error();
        error e(make_error_code(errc::key_mismatch), "certificate", phase::tls);
        return std::unexpected(std::move(e.on(name)));
    }
    if (!from.ocsp_response.empty()) {
        auto response = contents_of(from.ocsp_response, "ocsp_response");
        if (!response) return std::unexpected(std::move(response).error());
        c.ocsp_response = std::move(*response);
    }
    ERR_clear_error();
    return c;
}

std::expected<std::vector<x509_ptr>, error> read_authorities(const std::string& from) {
    auto text = contents_of(from, "authorities");
    if (!text) return std::unexpected(std::move(text).error());
    auto all = read_blocks<x509_ptr>(*text, PEM_read_bio_X509);
    if (all.empty()) {
        const bio_ptr again = reading(*text);
        if (X509* c = d2i_X509_bio(again.get(), nullptr)) all.emplace_back(c);
        ERR_clear_error();
    }
    // One that is missing would be found when its peers are refused.
    if (!all.empty() && all.size() >= certificates_in(*text)) return all;
    return unreadable("authorities", from);
}

std::expected<std::vector<crl_ptr>, error> read_revocations(const std::string& from) {
    auto text = contents_of(from, "client_revocations");
    if (!text) return std::unexpected(std::move(text).error());
    auto all = read_blocks<crl_ptr>(*text, PEM_read_bio_X509_CRL);
    // A list that is missing would let in whom it names, or nobody.
    if (!all.empty() && all.size() == blocks_in(*text, "X509 CRL")) return all;
    return unreadable("client_revocations", from);
}

std::vector<std::string> dns_names(X509* of) {
    std::vector<std::string> names;
    const auto add = [&names](const ASN1_STRING* s) {
        const std::string_view name(reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
                                    static_cast<std::size_t>(ASN1_STRING_length(s)));
        names.push_back(coracle::detail::lower(name));
    };
    auto* const all =
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(of, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
        const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all, i);
        if (name->type == GEN_DNS) add(name->d.dNSName);
    }
    GENERAL_NAMES_free(all);
    if (names.empty()) {
        // RFC 6125 section 6.4.4: the common name counts only where there is no other.
        X509_NAME* const subject = X509_get_subject_name(of);
        const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
        if (at >= 0) add(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    }
    return names;
}

}  // namespace coracle::tls::detail
