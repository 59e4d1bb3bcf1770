#pragma once

#include <coracle/runtime/backend.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace coracle {

/// A host that takes the mail of a domain (RFC 5321 section 5.1).
struct mail_exchange {
    std::uint16_t preference = 0;
    std::string name = {};
};

/// The hosts that take the mail of a domain, in `exchanges` in place of `found`. A backend with
/// names of its own knows it by its family.
struct mail_resolve_operation : resolve_operation {
    static constexpr int mail = -1;

    explicit mail_resolve_operation(callback done) noexcept : resolve_operation(done) {
        family = mail;
    }
    std::vector<mail_exchange> exchanges;
};

}  // namespace coracle
