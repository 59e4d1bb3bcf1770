#pragma once

#include <coracle/base/error.hpp>
#include <coracle/smtp/dkim.hpp>
#include <coracle/tls/sha256.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace coracle::smtp::detail {

/// A body in the form that is digested (RFC 6376 sections 3.4.3 and 3.4.4), as it comes.
class canonical_body {
public:
    explicit canonical_body(canonicalization how) noexcept : how_(how) {}
    /// Appends to `out` what has become clear.
    void add(std::string_view bytes, std::string& out);
    void finish(std::string& out);

private:
    void put(std::string_view run, std::string& out);
    void end_line() noexcept;

    canonicalization how_;
    std::uint64_t ends_ = 0;  ///< line ends that may be the last ones
    bool blank_ = false;      ///< blanks that may end the line
    bool cr_ = false;
    bool any_ = false;
};

/// A field, with its folds and line end, in the form that is signed (RFC 6376
/// sections 3.4.1, 3.4.2).
std::string canonical_field(std::string_view field, canonicalization how);

/// One signature while it is made.
class dkim_signature {
public:
    explicit dkim_signature(dkim_signer signer)
        : signer_(std::move(signer)), body_(signer_.options().body) {}

    void add_body(std::string_view bytes);
    /// The field DKIM-Signature, folded, for a mail with this header.
    std::expected<std::string, error> finish(std::string_view header, std::int64_t unix_time);

private:
    dkim_signer signer_;
    canonical_body body_;
    tls::sha256 digest_;
    std::string block_;
};

}  // namespace coracle::smtp::detail
