#pragma once

#include "smtp/client/core.hpp"

#include <coracle/smtp/sending.hpp>

#include <memory>
#include <optional>

namespace coracle::smtp::detail {

/// A mail as it is to be sent.
struct sending_state {
    std::shared_ptr<client_core> core;
    message mail;
    std::unique_ptr<client_options> own = {};  ///< in place of the client's options
    duration total_timeout{};
    std::optional<error> problem = {};

    void refuse(error e) {
        if (!problem) problem = std::move(e);
    }
};

/// Sends it, with retries. `s` must live until then.
task<std::expected<receipt, error>> send_mail(sending_state* s);
/// Sends one that nobody else owns.
task<std::expected<receipt, error>> send_owned_mail(std::unique_ptr<sending_state> s);

}  // namespace coracle::smtp::detail
