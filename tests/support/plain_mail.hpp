#pragma once

#include <coracle/smtp/client.hpp>

#include <expected>

namespace coracle::testing {

using mail_outcome = std::expected<smtp::receipt, error>;

/// Options of a client that sends in clear and knows no proxy.
inline smtp::client_options plain_mail_options() {
    smtp::client_options o;
    o.proxy_from_environment = false;
    o.starttls = smtp::starttls::off;
    return o;
}

}  // namespace coracle::testing
