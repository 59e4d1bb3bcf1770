#pragma once

#include <coracle/smtp/client_options.hpp>
#include <coracle/smtp/message.hpp>

#include <string>

namespace coracle::tool {

/// Exit codes that are the command's own; other failures end with those of curl.
enum send_exit : int {
    send_ok = 0,
    send_usage = 2,
    send_write_error = 23,
    send_read_error = 26,
    send_refused = 55,
    send_without_tls = 64,  ///< TLS was required, and the server has none
    send_login_denied = 67,
    send_uncertain = 101,  ///< the mail may have been accepted
    send_interrupted = 130,
};

/// The settings of `coracle smtp send`.
struct send_settings {
    std::string url;
    smtp::client_options client;
    smtp::pool_options pool;
    smtp::message mail;
    bool dry_run = false;
    bool silent = false;
};

/// Sends the mail, or prints it; returns the exit code.
int send_mail(const send_settings& s);

}  // namespace coracle::tool
