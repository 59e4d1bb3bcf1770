#include "smtp/client/transaction.hpp"

#include "base/ascii.hpp"
#include "smtp/client/failures.hpp"
#include "smtp/client/recipients_left.hpp"
#include "smtp/content_error.hpp"

#include <coracle/mime/address.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <utility>

namespace coracle::smtp::detail {
namespace {

constexpr std::size_t recipients_at_once = 100;
constexpr std::size_t bytes_at_once = 64 * 1024;
constexpr std::size_t bytes_of_chunk = 1024 * 1024;
constexpr std::size_t bytes_behind = 256;  ///< an envelope that goes with the end of a mail
/// How long a server that has stopped reading has to say why.
constexpr duration last_words = std::chrono::seconds(1);

// RFC 3461 section 4.
std::string xtext(std::string_view text) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (c > 0x20 && c < 0x7f && c != '+' && c != '=') {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.append("+").append(1, hex[byte >> 4]).append(1, hex[byte & 15U]);
        }
    }
    return out;
}

bool is_envelope_id(std::string_view id) noexcept {
    return id.size() <= 100 &&
           std::ranges::all_of(id, [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

/// A failure of the connection while the mail was under way.
error transaction::failed(const error& cause, std::string_view command) {
    over().break_off();
    if (!end_sent_) {
        const bool ours = cause.code() == std::errc::invalid_argument ||
                          cause.code() == make_error_code(errc::malformed_reply);
        return connection_error(cause, command, phase::receive, !ours, recipients_);
    }
    if (coracle::detail::is_cancellation(cause)) return uncertain_cancellation(cause, recipients_);
    error e = reply_error(errc::uncertain, end_of_data, {}, false, recipients_);
    std::string subject(end_of_data);
    return std::move(e.on(subject.append(": ").append(cause.message())));
}

/// A failure to read the mail while it was under way. What was sent of it is no mail: it has no
/// end.
error transaction::unreadable(error cause) {
    over().break_off();
    return content_error(std::move(cause), recipients_);
}

std::expected<void, error> transaction::lay_out(outgoing_mail& mail) {
    const bool chunking = can_->chunking && options_.chunking;
    mail_form form;
    form.abilities.eight_bit = can_->eight_bit;
    form.abilities.binary = can_->binary && chunking;
    form.utf8 = can_->utf8;
    if (auto laid = mail.lay_out(form, *loop::current()); !laid) return laid;
    utf8_ = mail.is_utf8();
    chunks_ = chunking;
    const auto size = mail.size();
    if (can_->largest != 0 && size && *size > can_->largest) {
        return std::unexpected(reply_error(
            errc::too_large,
            "SIZE " + std::to_string(can_->largest) + " for " + std::to_string(*size) + " bytes",
            {}, false));
    }
    return {};
}

task<std::expected<void, error>> transaction::prepare(outgoing_mail* mail,
                                                      std::shared_ptr<const capabilities> can) {
    prepared_ = false;
    can_ = std::move(can);
    recipients_.clear();
    for (std::string& address : message_.recipients()) {
        recipients_.push_back({std::move(address), false, {}});
    }
    if (auto laid = lay_out(*mail); !laid) co_return std::move(laid);
    if (mail->has_signers()) {
        auto signing = mail->sign(loop::current()->unix_time());
        auto is_signed = co_await std::move(signing);
        if (!is_signed) co_return std::move(is_signed);
    }
    auto line = mail_command(*mail);
    if (!line) co_return std::unexpected(std::move(line).error());
    mail_command_ = *std::move(line);
    prepared_ = true;
    co_return done();
}

std::expected<std::string, error> transaction::mail_command(const outgoing_mail& mail) const {
    std::string sender = message_.envelope_sender();
    if (!utf8_ && !sender.empty()) sender = mime::ascii_domain(sender).value_or(sender);
    std::string line = "MAIL FROM:<" + sender + '>';
    if (const auto size = mail.size(); size && can_->size) {
        line.append(" SIZE=").append(std::to_string(*size));
    }
    if (mail.is_binary()) {
        line += " BODY=BINARYMIME";
    } else if (mail.is_eight_bit()) {
        line += " BODY=8BITMIME";
    }
    if (utf8_) line += " SMTPUTF8";
    if (options_.require_tls) line += " REQUIRETLS";
    const delivery_reports& reports = options_.reports;
    if (!is_envelope_id(reports.envelope_id)) {
        error e(std::errc::invalid_argument, "option");
        return std::unexpected(std::move(e.on("reports.envelope_id")));
    }
    if (can_->dsn && reports.any()) {
        if (!reports.never) line += reports.with_content ? " RET=FULL" : " RET=HDRS";
        if (!reports.envelope_id.empty()) line += " ENVID=" + xtext(reports.envelope_id);
    }
    return line;
}

std::string transaction::recipient_command(const std::string& address) const {
    std::string line;
    append_recipient_command(address, line);
    return line;
}

void transaction::append_recipient_command(const std::string& address, std::string& to) const {
    to += "RCPT TO:<";
    to += utf8_ ? address : mime::ascii_domain(address).value_or(address);
    to += '>';
    const delivery_reports& r = options_.reports;
    if (!can_->dsn) return;
    if (r.never) {
        to += " NOTIFY=NEVER";
        return;
    }
    std::string when;
    for (const auto& [wanted, name] : {std::pair<bool, std::string_view>(r.on_success, "SUCCESS"),
                                       {r.on_failure, "FAILURE"},
                                       {r.on_delay, "DELAY"}}) {
        if (!wanted) continue;
        if (!when.empty()) when += ',';
        when += name;
    }
    if (!when.empty()) to += " NOTIFY=" + when;
}

std::string transaction::envelope_commands(std::size_t begin, std::size_t end,
                                           bool with_mail) const {
    std::string all;
    if (with_mail) all.append(mail_command_).append("\r\n");
    for (std::size_t i = begin; i != end; ++i) {
        append_recipient_command(recipients_[i].address, all);
        all += "\r\n";
    }
    return all;
}

std::string transaction::envelope() const {
    return envelope_commands(0, std::min(recipients_at_once, recipients_.size()), true);
}

bool transaction::is_short(const outgoing_mail& mail) const noexcept {
    return mail.size().value_or(bytes_at_once) < bytes_at_once;
}

// Commands that may go together go together (RFC 2920), and their replies are read afterwards.
task<std::expected<void, error>> transaction::send_envelope_batch(std::size_t begin,
                                                                  std::size_t end, bool with_mail) {
    connection& c = over();
    const bool resets = with_mail && c.needs_reset;
    const std::string first = with_mail ? mail_command_ : "RCPT";
    went_ahead_ = with_mail && here_.envelope_went_ahead();
    if (!went_ahead_) {
        const std::string all =
            (resets ? "RSET\r\n" : "") + envelope_commands(begin, end, with_mail);
        c.log_commands(all);
        auto writing = c.write(all, options_.reply_timeout);
        auto written = co_await std::move(writing);
        if (!written) co_return std::unexpected(failed(written.error(), first));
    }
    if (resets) {
        auto said = co_await c.read_reply(options_.reply_timeout);
        if (!said) co_return std::unexpected(failed(said.error(), "RSET"));
        c.needs_reset = false;
        if (c.broken()) co_return std::unexpected(reply_error("RSET", *std::move(said)));  // 421
    }
    auto reading = read_replies(begin, end, with_mail);
    co_return co_await std::move(reading);
}

task<std::expected<void, error>> transaction::read_replies(std::size_t begin, std::size_t end,
                                                           bool with_mail) {
    connection& c = over();
    std::optional<error> refused;
    if (with_mail) {
        auto said = c.reply_at_hand();
        if (!said) said = co_await c.read_reply(options_.reply_timeout);
        if (!*said) co_return std::unexpected(failed(said->error(), mail_command_));
        any_reply_ = !c.broken();
        out_of_sequence_ = went_ahead_ && (*said)->code == 503;
        if (!(*said)->positive()) refused = reply_error(mail_command_, **std::move(said));
    }
    for (std::size_t i = begin; i != end && !c.broken(); ++i) {
        auto said = c.reply_at_hand();
        if (!said) said = co_await c.read_reply(options_.reply_timeout);
        if (!*said) {
            if (refused) break;
            co_return std::unexpected(
                failed(said->error(), recipient_command(recipients_[i].address)));
        }
        recipients_[i].accepted = (*said)->positive();
        recipients_[i].reply = **std::move(said);
    }
    if (!refused && c.broken()) refused = told_to_go();
    if (refused) co_return std::unexpected(*std::move(refused));
    co_return done();
}

/// The failure by a 421 in reply to the envelope.
error transaction::told_to_go() const {
    const auto said = std::ranges::find_if(
        recipients_, [](const recipient_result& r) { return r.reply.code == 421; });
    const bool known = said != recipients_.end();
    return reply_error(errc::rejected_for_now,
                       known ? recipient_command(said->address) : mail_command_,
                       known ? said->reply : reply(), true, recipients_);
}

task<std::expected<void, error>> transaction::send_envelope_step_by_step() {
    if (over().needs_reset) {
        auto resetting = over().command("RSET", "RSET", options_.reply_timeout);
        auto said = co_await std::move(resetting);
        if (!said) co_return std::unexpected(failed(said.error(), "RSET"));
        over().needs_reset = false;
    }
    auto opening = send_envelope_batch(0, 0, true);
    auto sent = co_await std::move(opening);
    for (std::size_t i = 0; sent && i != recipients_.size(); ++i) {
        auto one = send_envelope_batch(i, i + 1, false);
        sent = co_await std::move(one);
        if (sent && refuse_rest(recipients_, i + 1)) break;
    }
    co_return std::move(sent);
}

task<std::expected<void, error>> transaction::send_envelope_in_batches() {
    done sent;
    for (std::size_t i = 0; sent && i < recipients_.size(); i += recipients_at_once) {
        const std::size_t end = std::min(i + recipients_at_once, recipients_.size());
        auto some = send_envelope_batch(i, end, i == 0);
        sent = co_await std::move(some);
        if (sent && refuse_rest(recipients_, end)) break;
    }
    co_return std::move(sent);
}

task<std::expected<void, error>> transaction::send_envelope(const outgoing_mail& mail) {
    if (!pipelines()) return send_envelope_step_by_step();
    // It has as long to get ready as the replies take to come.
    if (is_short(mail)) here_.invite();
    const std::size_t count = recipients_.size();
    return count <= recipients_at_once ? send_envelope_batch(0, count, true)
                                       : send_envelope_in_batches();
}

std::expected<void, error> transaction::judge_recipients() {
    const auto refused = std::ranges::find(recipients_, false, &recipient_result::accepted);
    if (refused == recipients_.end()) return {};
    const bool any =
        std::ranges::find(recipients_, true, &recipient_result::accepted) != recipients_.end();
    if (any && options_.rcpt_allow_fails) return {};
    over().needs_reset = true;
    const std::string line = recipient_command(refused->address);
    if (recipients_.size() == 1) {
        return std::unexpected(reply_error(line, refused->reply, recipients_));
    }
    const bool safe = std::ranges::all_of(
        recipients_, [](const recipient_result& r) { return r.accepted || r.reply.transient(); });
    return std::unexpected(
        reply_error(errc::recipients_rejected, line, refused->reply, safe, recipients_));
}

/// A reply that comes while the mail is sent says why the server goes.
task<std::expected<void, error>> transaction::interrupted(error cause) {
    if (coracle::detail::is_cancellation(cause)) co_return std::unexpected(failed(cause, "DATA"));
    auto said = co_await over().read_reply(last_words);
    over().break_off();
    if (!said || end_sent_) co_return std::unexpected(failed(cause, "DATA"));
    co_return std::unexpected(
        reply_error(chunks_ ? "BDAT" : "DATA", *std::move(said), recipients_));
}

/// `last`: with these bytes the server has all of it.
task<std::expected<void, error>> transaction::hand_over(std::string_view bytes, bool last) {
    if (over().has_input()) {
        auto taking = over().takes_input();
        const bool is_early = co_await std::move(taking);
        if (is_early) {
            const error early(make_error_code(errc::unexpected_reply), "smtp", phase::send);
            auto telling = interrupted(early);
            co_return co_await std::move(telling);
        }
    }
    if (last) end_sent_ = progress_.maybe_sent = true;
    // Most mails go in one step: no task for them.
    bytes = over().write_some(bytes);
    if (bytes.empty()) co_return done();
    auto writing = over().write_rest(bytes, options_.idle_timeout);
    auto written = co_await std::move(writing);
    if (written) co_return done();
    auto telling = interrupted(std::move(written).error());
    co_return co_await std::move(telling);
}

task<std::expected<void, error>> transaction::send_data(outgoing_mail& mail) {
    auto asking = over().command("DATA", "DATA", options_.reply_timeout);
    auto said = co_await std::move(asking);
    if (!said) co_return std::unexpected(failed(said.error(), "DATA"));
    if (said->code != 354) {
        over().needs_reset = true;
        // After a 2xx here it may take the mail for commands, or commands for the mail.
        if (!said->transient() && !said->permanent()) over().break_off();
        co_return std::unexpected(reply_error("DATA", *std::move(said), recipients_));
    }
    dot_writer dots;
    std::string block;
    for (;;) {
        auto bytes = co_await mail.next();
        // The connection is closed without the dot: the server has no mail.
        if (!bytes) co_return std::unexpected(unreadable(std::move(bytes).error()));
        if (bytes->empty()) break;
        if (block.empty() && bytes->size() >= bytes_at_once / 2 && dots.passes(*bytes)) {
            auto handing = hand_over(*bytes, false);
            auto handed = co_await std::move(handing);
            if (!handed) co_return std::move(handed);
            continue;
        }
        dots.add(*bytes, block);
        if (block.size() < bytes_at_once) continue;
        auto handing = hand_over(block, false);
        auto handed = co_await std::move(handing);
        if (!handed) co_return std::move(handed);
        block.clear();
    }
    dots.finish(block);
    block += take_envelope_behind();
    auto handing = hand_over(block, true);
    co_return co_await std::move(handing);
}

// RFC 3030: the size is known, so all of it is one chunk.
task<std::expected<void, error>> transaction::send_one_chunk(outgoing_mail& mail,
                                                             std::uint64_t size) {
    // Blocks of a large mail are not copied; nobody waits behind it.
    const bool large = size >= bytes_at_once;
    const std::string line = "BDAT " + std::to_string(size) + " LAST\r\n";
    over().log('>', std::string_view(line).substr(0, line.size() - 2));
    buffer block(line.size() + (large ? 0 : size + bytes_behind));
    block.append(line);
    std::uint64_t sent = 0;
    for (;;) {
        auto bytes = co_await mail.next();
        if (!bytes) co_return std::unexpected(unreadable(std::move(bytes).error()));
        sent += bytes->size();
        const bool last = sent == size || bytes->empty();
        const bool apart = large && bytes->size() >= bytes_at_once / 2;
        if (!apart) block.append(*bytes);
        if (last && !large) block.append(take_envelope_behind());
        if (!block.empty() && (apart || last || block.size() >= bytes_at_once)) {
            auto handing = hand_over(block.view(), last && !apart);
            auto handed = co_await std::move(handing);
            if (!handed) co_return std::move(handed);
            block.clear();
        }
        if (apart) {
            auto handing = hand_over(*bytes, last);
            auto handed = co_await std::move(handing);
            if (!handed) co_return std::move(handed);
        }
        if (last) co_return done();
    }
}

task<std::expected<void, error>> transaction::send_content(outgoing_mail& mail) {
    if (!chunks_) return send_data(mail);
    const auto size = mail.size();
    return size ? send_one_chunk(mail, *size) : send_chunks(mail);
}

task<std::expected<void, error>> transaction::send_chunks(outgoing_mail& mail) {
    std::string chunk;
    for (bool last = false; !last;) {
        auto bytes = co_await mail.next();
        if (!bytes) co_return std::unexpected(unreadable(std::move(bytes).error()));
        last = bytes->empty();
        chunk += *bytes;
        if (!last && chunk.size() < bytes_of_chunk) continue;
        const std::string line =
            "BDAT " + std::to_string(chunk.size()) + (last ? " LAST" : "") + "\r\n";
        over().log('>', std::string_view(line).substr(0, line.size() - 2));
        auto first = hand_over(line, last && chunk.empty());
        auto handed = co_await std::move(first);
        if (handed && !chunk.empty()) {
            auto rest = hand_over(chunk, last);
            handed = co_await std::move(rest);
        }
        if (!handed) co_return std::move(handed);
        chunk.clear();
        if (last) break;
        auto said = co_await over().read_reply(options_.reply_timeout);
        if (!said) co_return std::unexpected(failed(said.error(), "BDAT"));
        if (!said->positive()) {
            over().needs_reset = true;
            co_return std::unexpected(reply_error("BDAT", *std::move(said), recipients_));
        }
    }
    co_return done();
}

task<std::expected<receipt, error>> transaction::finish() {
    receipt r;
    bool any = false;
    std::optional<error> refused;
    settled_ = 0;
    for (recipient_result& one : recipients_) {
        if (!one.accepted) continue;
        // LMTP has a reply for each, SMTP one for all (RFC 2033 section 4.2).
        if (lmtp_ || !any) {
            auto said = over().reply_at_hand();
            if (!said) said = co_await over().read_reply(options_.accept_timeout);
            if (!*said) co_return std::unexpected(failed(said->error(), end_of_data));
            r.reply = **std::move(said);
        }
        any = true;
        if (lmtp_) {
            one.reply = r.reply;
            one.accepted = r.reply.positive();
            settled_ = static_cast<std::size_t>(&one - recipients_.data()) + 1;
        }
        if (r.reply.positive()) continue;
        if (!refused) refused = reply_error(end_of_data, r.reply);
        if (!lmtp_) break;
    }
    const bool some =
        std::ranges::find(recipients_, true, &recipient_result::accepted) != recipients_.end();
    end_sent_ = false;
    progress_.maybe_sent = !progress_.recipients.empty();
    if (refused && lmtp_ && some) {
        // Some have it: what is sent again, they have twice.
        if (!options_.rcpt_allow_fails) {
            const failure* const f = failure_of(*refused);
            co_return std::unexpected(reply_error(errc::recipients_rejected, end_of_data,
                                                  f->reply(), false, recipients_));
        }
        refused.reset();
    }
    if (refused) {
        // After BDAT the server may still be amid the mail (RFC 3030 section 2).
        if (!followed_) over().needs_reset = true;
        const failure* const f = failure_of(*refused);
        co_return std::unexpected(reply_error(end_of_data, f->reply(), recipients_));
    }
    r.recipients = std::move(recipients_);
    co_return std::move(r);
}

/// The commands of the mail that waits behind this one, if they are ready: they go with its end,
/// unless this mail goes on behind it.
std::string transaction::take_envelope_behind() {
    if (!left_.empty()) return {};
    std::string commands = here_.take_envelope();
    followed_ = !commands.empty();
    over().log_commands(commands);
    return commands;
}

task<std::expected<receipt, error>> transaction::run_once(outgoing_mail* mail) {
    followed_ = false;
    auto opening = send_envelope(*mail);
    auto opened = co_await std::move(opening);
    if (!opened && std::exchange(out_of_sequence_, false) && !over().broken()) {
        // The mail before was refused, and this server is still amid it.
        over().needs_reset = true;
        auto again = send_envelope(*mail);
        opened = co_await std::move(again);
    }
    if (!opened) co_return std::unexpected(std::move(opened).error());
    if (auto judged = judge_recipients(); !judged) {
        co_return std::unexpected(std::move(judged).error());
    }
    left_ = recipients_left(recipients_);
    auto sending = send_content(*mail);
    auto sent = co_await std::move(sending);
    if (!sent) co_return std::unexpected(std::move(sent).error());
    auto finishing = finish();
    co_return co_await std::move(finishing);
}

}  // namespace coracle::smtp::detail
