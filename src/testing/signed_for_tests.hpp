#pragma once

#include "tls/self_signed.hpp"

#include <memory>
#include <string>

namespace coracle::testing::detail {

/// Fills `context` with one whose certificate, made now, is for this machine's loopback names, and
/// gives the PEM that a client has to trust.
inline std::string sign_for_tests(std::shared_ptr<tls::server_context>& context) {
    tls::server_options o;
    o.certificates.push_back(tls::detail::self_signed_for_ever({"localhost", "127.0.0.1", "::1"}));
    std::string pem = o.certificates.front().certificate;
    context = std::make_shared<tls::server_context>(std::move(o));
    return pem;
}

/// A client's options that trust these authorities (PEM) and no others.
inline tls::client_options trusting(const std::string& authorities) {
    tls::client_options o;
    o.system_authorities = false;
    o.authorities = authorities;
    return o;
}

}  // namespace coracle::testing::detail
