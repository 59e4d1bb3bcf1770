#pragma once

#include <coracle/base/log.hpp>
#include <coracle/smtp/interceptor.hpp>

namespace coracle::smtp {

struct log_mails_options {
    log_level level = log_level::info;
    /// Logs the subject too, which may say what no log should have. Default: no.
    bool subject = false;
};

/// An interceptor that logs a line for each mail to the log of its loop (layer smtp) when a server
/// has accepted it, or it has failed:
///
///     mail ada@x.org > bob@y.org, eve@z.org 250 2.0.0 queued, 12.3 ms, attempt 2, <id@x.org>
///
/// The first three of many recipients stand there, and the number of the others. No content and no
/// credentials are in it: commands of an authentication are masked in errors, too.
class log_mails {
public:
    explicit log_mails(log_mails_options o = {}) noexcept : options_(o) {}
    task<receipt> operator()(message& m, const mail_handler& next) const;

private:
    log_mails_options options_;
};

}  // namespace coracle::smtp
