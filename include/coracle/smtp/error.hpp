#pragma once

#include <coracle/base/error.hpp>
#include <coracle/smtp/reply.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace coracle::smtp {

/// Why a mail was not sent, beside what the connection fails with. The subject of the error says
/// the command and the reply, and `smtp::failure` has them.
enum class errc : std::uint8_t {
    rejected_for_now = 1,    ///< a reply of 4xx: it may be accepted later
    rejected,                ///< a reply of 5xx
    unexpected_reply,        ///< one that the command does not have
    malformed_reply,         ///< what came is no reply, or exceeds a limit
    uncertain,               ///< the mail was sent, and no reply said what became of it
    starttls_unavailable,    ///< TLS is required and not offered, or was refused
    bytes_before_tls,        ///< something was sent in clear behind the reply to STARTTLS
    no_mechanism,            ///< the server offers no authentication that may be used
    authentication_failed,   ///< credentials were refused
    server_not_authentic,    ///< SCRAM: the server does not know the password
    needs_smtputf8,          ///< an address beyond ASCII, for a server without SMTPUTF8
    needs_8bitmime,          ///< a mail that was made elsewhere, for a server without 8BITMIME
    requiretls_unavailable,  ///< a server that cannot promise TLS all the way
    too_large,               ///< larger than the server says it takes (SIZE)
    recipients_rejected,     ///< none of the recipients, or not all, were accepted
    null_mx,                 ///< the domain takes no mail, and says so (RFC 7505)
    policy_not_met,          ///< no host of the domain is one that its policy allows (RFC 8461)
};

const std::error_category& category() noexcept;
std::error_code make_error_code(errc e) noexcept;

/// The outcome for one recipient.
struct recipient_result {
    std::string address;
    bool accepted = false;
    smtp::reply reply;  ///< to RCPT, or of LMTP behind the end of the mail; code 0: none came
    /// The reason why no reply came: the failure of its domain, of a client that delivers to MX
    /// hosts, or of a further transaction for recipients that were too many (`errc::uncertain`
    /// where the server may have accepted it); else nothing.
    std::optional<error> problem = {};
};

/// Details of a failure of a mail client: `dynamic_cast<const smtp::failure*>(error.details())`.
class failure final : public error_details {
public:
    failure(std::string command, smtp::reply r, std::vector<recipient_result> recipients)
        : command_(std::move(command)), reply_(std::move(r)), recipients_(std::move(recipients)) {}

    /// The command that it was about, "RCPT TO:<a@x.org>", with secrets as "***"; for what are
    /// none, "greeting", "end of data", and "content" where the content of the mail cannot be read.
    const std::string& command() const noexcept { return command_; }
    /// The reply to it; code 0 where none came.
    const smtp::reply& reply() const noexcept { return reply_; }
    /// Those that were asked about by then.
    const std::vector<recipient_result>& recipients() const noexcept { return recipients_; }

    void describe(std::string& line) const override;

private:
    std::string command_;
    smtp::reply reply_;
    std::vector<recipient_result> recipients_;
};

/// The failure that an error of a mail client holds; null where there is none.
const failure* failure_of(const error& e) noexcept;

}  // namespace coracle::smtp

template <>
struct std::is_error_code_enum<coracle::smtp::errc> : std::true_type {};
