#pragma once

#include "mailbox.hpp"

#include <coracle/testing/smtp_sink.hpp>

#include <optional>
#include <string>
#include <vector>

namespace coracle::tool {

/// The settings of `coracle smtp sink`.
struct sink_settings {
    testing::smtp_sink_options mail;
    std::optional<std::string> web;      ///< the address of the page; nothing: there is none
    std::vector<std::string> web_hosts;  ///< names that the page may be reached by
    std::string directory;               ///< of a Maildir; empty: mails are in memory alone
    mailbox_limits limits;
    bool verbose = false;  ///< a line for each mail
};

/// Takes mails until a signal. Throws `failure` and `exception`.
void sink_mail(sink_settings settings);

}  // namespace coracle::tool
