#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tls {
class signing_key;
}

namespace coracle::smtp {

/// How much relays may change before a signature no longer fits (RFC 6376 section 3.4).
enum class canonicalization : std::uint8_t {
    relaxed,  ///< blanks and the case of names
    simple,   ///< nothing
};

/// How a mail is signed.
struct dkim_options {
    std::string domain = {};    ///< "example.org"
    std::string selector = {};  ///< whose key is at SELECTOR._domainkey.DOMAIN
    /// RSA or Ed25519: the path of a PEM file, or the PEM text.
    secret key = {};
    secret password = {};
    canonicalization header = canonicalization::relaxed;
    canonicalization body = canonicalization::relaxed;
    /// The fields that are signed; From always is. Each that is there is listed once more, so that
    /// none can be added, and From, Reply-To, Subject, To and Cc also where they are not there.
    /// Default: those that RFC 6376 section 5.4.1 names.
    std::vector<std::string> fields = {};
    /// The signing identity: "@example.org" or an address. Default: the domain.
    std::string identity = {};
    /// After this the signature no longer counts; zero: for ever. Default 0.
    duration lifetime{};
};

/// Signs mails (DKIM, RFC 6376): rsa-sha256 or ed25519-sha256 (RFC 8463), as the key is. A copy
/// refers to the same key. Thread-safe.
class dkim_signer {
public:
    /// Reads the key, which blocks. Throws `exception` as `tls::signing_key::read` fails, and with
    /// `std::errc::invalid_argument` for a domain or selector that is none.
    explicit dkim_signer(dkim_options o);

    const dkim_options& options() const noexcept { return *options_; }
    const tls::signing_key& key() const noexcept { return *key_; }

private:
    std::shared_ptr<const dkim_options> options_;
    std::shared_ptr<const tls::signing_key> key_;
};

}  // namespace coracle::smtp
