#pragma once

#include <coracle/smtp/message.hpp>

#include <optional>
#include <string>
#include <vector>

namespace coracle::tool {

/// A mail as the arguments of `coracle smtp send` describe it.
struct mail_arguments {
    // Lists of addresses; what is given several times is joined.
    std::vector<std::string> from;
    std::vector<std::string> to;
    std::vector<std::string> cc;
    std::vector<std::string> bcc;
    std::vector<std::string> reply_to;
    std::optional<std::string> envelope_from;
    std::optional<std::string> subject;
    std::optional<std::string> text;       ///< or "@FILE"
    std::optional<std::string> html;       ///< or "@FILE"
    std::vector<std::string> attachments;  ///< FILE[;type=TYPE][;name=NAME]
    std::vector<std::string> inlines;      ///< FILE[;type=TYPE][;id=ID]
    std::vector<std::string> headers;      ///< "Name: value"
    std::optional<std::string> raw;        ///< a file; "-": standard input
    std::vector<std::string> signers;      ///< DOMAIN:SELECTOR:KEYFILE
};

/// Makes the mail; reads standard input if an argument says so, or if there is no text. Blocks.
/// Throws `failure` if it cannot be sent, and `unreadable` for a file.
smtp::message mail_of(const mail_arguments& a);

}  // namespace coracle::tool
