#include "smtp_explanation.hpp"

#include "explanation.hpp"
#include "smtp_send.hpp"

#include <coracle/http/curlev.hpp>
#include <coracle/smtp/error.hpp>

#include <string_view>

namespace coracle::tool {
namespace {

// Numbers of libcurl (CURLcode).
constexpr int unsupported_protocol = 1;
constexpr int weird_server_reply = 8;
constexpr int partial_file = 18;
constexpr int read_error = 26;
constexpr int receive_error = 56;
constexpr int filesize_exceeded = 63;

constexpr std::string_view look_first = ": look whether it has come before you send it again";

std::string_view hint_of(smtp::errc e) noexcept {
    switch (e) {
        case smtp::errc::starttls_unavailable: return " (--starttls wanted goes on without it)";
        case smtp::errc::no_mechanism:
            return " (--auth names mechanisms, --auth-in-clear allows them without TLS)";
        case smtp::errc::uncertain: return look_first;
        case smtp::errc::recipients_rejected: return " (--allow-refused sends it to the others)";
        default: return "";
    }
}

bool is_smtp(const error& e) noexcept {
    return e.code().category() == smtp::category();
}

std::size_t count_refused(const smtp::failure& f) noexcept {
    std::size_t n = 0;
    for (const smtp::recipient_result& r : f.recipients()) n += r.accepted ? 0 : 1;
    return n;
}

/// Each refused recipient has a line of its own.
bool is_about_recipient(const smtp::failure& f) noexcept {
    return f.command().starts_with("RCPT") && count_refused(f) != 0;
}

/// "RCPT TO:<x@example.net>: 550 5.1.1 no such user".
std::string dialogue_of(const error& e) {
    const smtp::failure* const f = smtp::failure_of(e);
    if (f == nullptr) return std::string(e.subject());
    std::string text = f->command();
    if (f->reply().code != 0) text += ": " + f->reply().to_string();
    return text;
}

std::string explain_smtp(const error& e) {
    const auto why = static_cast<smtp::errc>(e.code().value());
    const smtp::failure* const f = smtp::failure_of(e);
    std::string text = e.code().message();
    if (f != nullptr && (why == smtp::errc::recipients_rejected || is_about_recipient(*f))) {
        const std::size_t all = f->recipients().size();
        const std::size_t refused = count_refused(*f);
        text = std::to_string(refused) + " of " + std::to_string(all) +
               (all == 1 ? " recipient was refused" : " recipients were refused");
        return refused == all ? text : text.append(hint_of(smtp::errc::recipients_rejected));
    }
    const std::string about = dialogue_of(e);
    if (!about.empty()) text += ": " + about;
    return text.append(hint_of(why));
}

int code_of_smtp(smtp::errc e) noexcept {
    switch (e) {
        case smtp::errc::rejected_for_now:
        case smtp::errc::rejected:
        case smtp::errc::recipients_rejected:
        case smtp::errc::null_mx:
        case smtp::errc::needs_smtputf8:
        case smtp::errc::needs_8bitmime: return send_refused;
        case smtp::errc::unexpected_reply:
        case smtp::errc::malformed_reply: return weird_server_reply;
        case smtp::errc::uncertain: return send_uncertain;
        case smtp::errc::starttls_unavailable:
        case smtp::errc::bytes_before_tls:
        case smtp::errc::requiretls_unavailable:
        case smtp::errc::policy_not_met: return send_without_tls;
        case smtp::errc::no_mechanism:
        case smtp::errc::authentication_failed:
        case smtp::errc::server_not_authentic: return send_login_denied;
        case smtp::errc::too_large: return filesize_exceeded;
    }
    return receive_error;
}

/// A file to be sent, or a stream, that cannot be read.
bool is_about_content(const error& e) noexcept {
    const smtp::failure* const f = smtp::failure_of(e);
    return f != nullptr && f->command() == "content";
}

bool is_broken_off(const error& e) noexcept {
    return e == errc::end_of_stream || e == errc::unexpected_end;
}

}  // namespace

std::string explain_mail(const error& e) {
    if (is_smtp(e)) return explain_smtp(e);
    if (e == std::errc::protocol_not_supported) {
        return "only smtp, smtps, lmtp and mx URLs are supported";
    }
    if (e == std::errc::timed_out && e.operation() != "connect_timeout") {
        if (e.subject() == "total_timeout") return "timeout (--max-time)";
        return "the server has not replied in time: " + dialogue_of(e);
    }
    if (is_broken_off(e) && e.phase() != phase::tls) {
        return "the server has closed the connection: " + dialogue_of(e);
    }
    if (is_about_content(e) && e.operation() != "message") {
        return "cannot read '" + std::string(e.subject()) + "': " + e.code().message();
    }
    return explain(e);
}

std::string explain_interrupted(const error& e) {
    const smtp::failure* const f = smtp::failure_of(e);
    std::string text = "interrupted";
    const bool cancelled = e == std::errc::operation_canceled;
    const bool is_over = cancelled && f != nullptr && f->command() == "end of data";
    if (!is_over && e != smtp::errc::uncertain) return text;
    return text.append(": the server may have the mail").append(look_first);
}

int mail_exit_code_of(const error& e) noexcept {
    if (is_smtp(e)) return code_of_smtp(static_cast<smtp::errc>(e.code().value()));
    if (e == std::errc::protocol_not_supported) return unsupported_protocol;
    if (is_about_content(e)) return read_error;
    const int code = http::curlev_code(e);
    if (code == partial_file) return receive_error;
    return code > 0 ? code : send_usage;
}

}  // namespace coracle::tool
