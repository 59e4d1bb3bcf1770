#pragma once

#include "smtp/client/connection.hpp"
#include "smtp/dot_writer.hpp"
#include "smtp/outgoing_mail.hpp"

#include <coracle/smtp/sending.hpp>

#include <string>
#include <vector>

namespace coracle::smtp::detail {

/// One mail over one connection: MAIL, RCPT, DATA or BDAT, and the replies.
class transaction {
public:
    /// `maybe_sent` is told while the server may have all of the mail.
    transaction(connection& over, const client_options& o, const message& m, bool lmtp,
                bool& maybe_sent) noexcept
        : connection_(over), options_(o), message_(m), lmtp_(lmtp), uncertain_(maybe_sent) {}

    task<std::expected<receipt, error>> run(outgoing_mail* mail);

    /// Returns whether the server has said anything to it. If not, a connection that had waited may
    /// have been closed by then.
    bool any_reply() const noexcept { return any_reply_; }

private:
    using done = std::expected<void, error>;

    std::expected<void, error> prepare(outgoing_mail& mail);
    std::expected<std::string, error> mail_command(const outgoing_mail& mail) const;
    std::string recipient_command(const std::string& address) const;
    task<done> send_envelope();
    task<done> send_envelope_batch(std::size_t begin, std::size_t end, bool with_mail);
    done judge_recipients();
    task<done> send_data(outgoing_mail& mail);
    task<done> send_chunks(outgoing_mail& mail);
    task<done> send_one_chunk(outgoing_mail& mail, std::uint64_t size);
    task<done> hand_over(std::string_view bytes, bool last);
    task<done> interrupted(error cause);
    task<std::expected<receipt, error>> finish();
    task<std::expected<reply, error>> final_reply(const std::string& about);
    error failed(const error& cause, std::string_view command);

    connection& connection_;
    const client_options& options_;
    const message& message_;
    bool lmtp_;
    bool& uncertain_;  ///< the end of the mail may have arrived
    bool chunks_ = false;
    bool utf8_ = false;
    bool any_reply_ = false;
    std::string mail_command_;
    std::vector<recipient_result> recipients_;
};

}  // namespace coracle::smtp::detail
