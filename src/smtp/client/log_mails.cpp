#include "smtp/message_state.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/smtp/log_mails.hpp>

#include <algorithm>
#include <chrono>
#include <string>

namespace coracle::smtp {
namespace {

constexpr std::size_t shown_recipients = 3;

void append_recipients(std::string& text, const message& m) {
    const auto all = m.recipients();
    const std::size_t shown = std::min(all.size(), shown_recipients);
    for (std::size_t i = 0; i != shown; ++i) text.append(i == 0 ? " " : ", ").append(all[i]);
    if (all.size() > shown) text += " and " + std::to_string(all.size() - shown) + " more";
}

/// The line that is logged for one mail.
class mail_line {
public:
    mail_line(const log_mails_options& o, const message& m)
        : options_(o), mail_(m), here_(*loop::current()), began_(here_.now()) {}

    void ended(const receipt& r) {
        begin();
        if (r.reply.code != 0) text_ += ' ' + r.reply.to_string();
        append_time();
        const auto refused = std::ranges::count(r.recipients, false, &recipient_result::accepted);
        if (refused != 0) {
            text_ += ", " + std::to_string(refused) + " of " + std::to_string(r.recipients.size()) +
                     " recipients refused";
        }
        if (r.attempts > 1) text_ += ", attempt " + std::to_string(r.attempts);
        write();
    }
    void failed(const error& e) {
        begin();
        text_.append(" failed: ").append(e.code().message());
        const failure* const f = failure_of(e);
        if (f != nullptr && f->reply().code != 0) text_ += " (" + f->reply().to_string() + ')';
        append_time();
        if (e.phase() != phase::none) text_.append(", phase ").append(to_string(e.phase()));
        if (e.attempt() > 1) text_ += ", attempt " + std::to_string(e.attempt());
        write();
    }

private:
    // Interceptors behind this one may have changed the mail.
    void begin() {
        text_ = "mail " + mail_.envelope_sender() + " >";
        append_recipients(text_, mail_);
    }
    void append_time() {
        const auto us =
            std::chrono::duration_cast<std::chrono::microseconds>(here_.now() - began_).count();
        const auto tenths = (us + 50) / 100;
        text_ += ", " + std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " ms";
    }
    void write() {
        const detail::message_state& s = mail_.state();
        if (!s.id.empty()) text_ += ", <" + s.id + '>';
        if (options_.subject && s.subject) text_ += ", Subject: " + *s.subject;
        here_.log().write(log_layer::smtp, options_.level, text_);
    }

    const log_mails_options& options_;
    const message& mail_;
    loop& here_;
    time_point began_;
    std::string text_;
};

}  // namespace

task<receipt> log_mails::operator()(message& m, const mail_handler& next) const {
    mail_line line(options_, m);
    try {
        auto sending = next(m);
        receipt r = co_await std::move(sending);
        line.ended(r);
        co_return r;
    } catch (const exception& e) {
        line.failed(e.error());
        throw;
    } catch (...) {
        line.failed(error(std::errc::state_not_recoverable));
        throw;
    }
}

}  // namespace coracle::smtp
