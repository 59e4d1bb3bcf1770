#include <coracle/smtp/error.hpp>

namespace coracle::smtp {
namespace {

class smtp_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "smtp"; }
    std::string message(int value) const override {
        switch (static_cast<errc>(value)) {
            case errc::rejected_for_now: return "the server does not accept it for now";
            case errc::rejected: return "the server does not accept it";
            case errc::unexpected_reply: return "a reply that the command does not have";
            case errc::malformed_reply: return "a malformed reply";
            case errc::uncertain: return "the mail was sent, and the server has not replied";
            case errc::starttls_unavailable: return "the server does not offer STARTTLS";
            case errc::bytes_before_tls: return "bytes in clear behind the reply to STARTTLS";
            case errc::no_mechanism: return "the server offers no authentication that may be used";
            case errc::authentication_failed: return "the credentials were refused";
            case errc::server_not_authentic: return "the server does not know the password";
            case errc::needs_smtputf8: return "an address needs SMTPUTF8";
            case errc::needs_8bitmime: return "the mail needs 8BITMIME";
            case errc::requiretls_unavailable: return "the server does not offer REQUIRETLS";
            case errc::too_large: return "larger than the server takes";
            case errc::null_mx: return "the domain takes no mail";
            case errc::policy_not_met: return "no host of the domain is allowed by its policy";
            case errc::recipients_rejected: return "recipients were not accepted";
        }
        return "unknown";
    }
};

}  // namespace

const std::error_category& category() noexcept {
    static const smtp_category instance;
    return instance;
}

std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), category()};
}

void failure::describe(std::string& line) const {
    std::size_t refused = 0;
    for (const recipient_result& r : recipients_) refused += r.accepted ? 0 : 1;
    if (refused != 0 && recipients_.size() > 1) {
        line.append(", ").append(std::to_string(refused)).append(" of ");
        line.append(std::to_string(recipients_.size())).append(" recipients refused");
    }
}

const failure* failure_of(const error& e) noexcept {
    return dynamic_cast<const failure*>(e.details());
}

}  // namespace coracle::smtp
