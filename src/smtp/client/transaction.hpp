#pragma once

#include "smtp/client/mail_progress.hpp"
#include "smtp/client/place.hpp"
#include "smtp/dot_writer.hpp"
#include "smtp/outgoing_mail.hpp"

#include <coracle/smtp/sending.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::smtp::detail {

/// One mail over a connection: MAIL, RCPT, DATA or BDAT, and the replies; and once more for those
/// recipients that were too many. May be run again over another connection.
class transaction {
public:
    /// `here` has the connection.
    transaction(place& here, const client_options& o, const message& m, bool lmtp,
                mail_progress& progress) noexcept
        : here_(here), options_(o), message_(m), lmtp_(lmtp), progress_(progress) {}

    /// Lays the mail out for a server of these capabilities, and signs it.
    task<std::expected<void, error>> prepare(outgoing_mail* mail,
                                             std::shared_ptr<const capabilities> can);
    /// The commands of its envelope that may go together, once it is prepared.
    std::string envelope() const;
    /// Returns whether it is sent in one go, so that who waits behind it does not wait for long.
    bool is_short(const outgoing_mail& mail) const noexcept;
    task<std::expected<receipt, error>> run(outgoing_mail* mail);

    /// Returns whether this may be the end of a connection that had waited and was closed
    /// meanwhile: the server has said nothing to this mail.
    bool may_be_stale(const error& why) const noexcept {
        return !any_reply_ && why.safe_to_retry();
    }

private:
    using done = std::expected<void, error>;

    connection& over() const noexcept { return *here_.over(); }
    bool pipelines() const noexcept { return can_->pipelining && options_.pipelining; }
    done lay_out(outgoing_mail& mail);
    std::expected<std::string, error> mail_command(const outgoing_mail& mail) const;
    std::string recipient_command(const std::string& address) const;
    void append_recipient_command(const std::string& address, std::string& to) const;
    std::string envelope_commands(std::size_t begin, std::size_t end, bool with_mail) const;
    task<done> send_envelope(const outgoing_mail& mail);
    task<done> send_envelope_step_by_step();
    task<done> send_envelope_in_batches();
    task<done> send_envelope_batch(std::size_t begin, std::size_t end, bool with_mail);
    task<done> read_replies(std::size_t begin, std::size_t end, bool with_mail);
    error told_to_go() const;
    std::string take_envelope_behind();
    done judge_recipients();
    task<done> send_data(outgoing_mail& mail);
    task<done> send_content(outgoing_mail& mail);
    task<done> send_chunks(outgoing_mail& mail);
    task<done> send_one_chunk(outgoing_mail& mail, std::uint64_t size);
    task<done> hand_over(std::string_view bytes, bool last);
    task<done> interrupted(error cause);
    task<std::expected<receipt, error>> finish();
    task<std::expected<receipt, error>> run_once(outgoing_mail* mail);
    task<done> send_to_left(outgoing_mail* mail);
    void settle(const error& why);
    error failed(const error& cause, std::string_view command);
    error unreadable(error cause);

    place& here_;
    const client_options& options_;
    const message& message_;
    bool lmtp_;
    mail_progress& progress_;
    bool end_sent_ = false;    ///< of this transaction, and no reply has come
    std::size_t settled_ = 0;  ///< recipients of LMTP, from the first, whose last reply has come
    bool prepared_ = false;
    std::shared_ptr<const capabilities> can_;  ///< of the server that it is prepared for
    bool chunks_ = false;
    bool utf8_ = false;
    bool any_reply_ = false;
    bool went_ahead_ = false;       ///< the envelope, with the end of the mail before
    bool followed_ = false;         ///< by the envelope of the mail behind
    bool out_of_sequence_ = false;  ///< ... and was no command to expect there
    std::string mail_command_;
    std::vector<recipient_result> recipients_;
    std::vector<recipient_result> left_;  ///< for a further mail with the same content
};

}  // namespace coracle::smtp::detail
