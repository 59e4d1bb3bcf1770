#pragma once

#include <coracle/tls/options.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::testing {

/// A test's demands on a certificate.
struct certificate_request {
    std::vector<std::string> names;  ///< DNS names and IP addresses; the first is the common name
    long valid_since = -3600;        ///< seconds from now
    long valid_for = 24 * 3600;      ///< seconds from now
    bool rsa = false;                ///< 2048 bits, in place of P-256
    bool common_name = true;         ///< false: the subject is empty
    bool alternative_names = true;   ///< false: `names` are nowhere but in the subject
};

/// An authority of its own for a test.
class test_ca {
public:
    /// `above`: the authority that vouches for it; null: itself.
    explicit test_ca(const std::string& name = "Test CA", const test_ca* above = nullptr);
    ~test_ca();
    test_ca(const test_ca&) = delete;
    test_ca& operator=(const test_ca&) = delete;

    /// The authority's certificate, PEM.
    const std::string& pem() const noexcept;
    tls::certificate_source issue(const certificate_request& r) const;
    /// A list of the certificates that it has revoked, PEM; `valid_for` in seconds from now.
    std::string revocations(const std::vector<tls::certificate_source>& revoked,
                            long valid_for = 3600) const;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

/// Returns the name that "openssl rehash" gives a certificate, which is given as PEM.
std::string hashed_name(const std::string& pem);
/// Returns certificate and key as one encrypted PKCS#12 container, DER.
std::string to_pkcs12(const tls::certificate_source& s, const std::string& password);
/// The certificate as DER.
std::string certificate_der(const tls::certificate_source& s);
/// The key as DER (PKCS#8).
std::string key_der(const tls::certificate_source& s);
/// The key as PEM, encrypted.
std::string encrypted_key(const tls::certificate_source& s, const std::string& password);

}  // namespace coracle::testing
