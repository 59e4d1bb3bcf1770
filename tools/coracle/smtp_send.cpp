#include "smtp_send.hpp"

#include "progress_display.hpp"
#include "settings.hpp"
#include "smtp_explanation.hpp"

#include <coracle/base/url.hpp>
#include <coracle/io/standard_streams.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/smtp/client.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace coracle::tool {
namespace {

void say(const std::string& text) {
    std::fprintf(stderr, "%s\n", printable(text).c_str());
}

void complain(const send_settings& s, const std::string& about) {
    if (!s.silent) say("coracle: " + about);
}

/// Lines of --verbose as they are, others as logs are.
void log_or_print(void*, log_level level, log_layer layer, std::string_view text) {
    const bool traced = text.starts_with("> ") || text.starts_with("< ") || text.starts_with("* ");
    if (layer == log_layer::smtp && level == log_level::info && traced) {
        say(std::string(text));
    } else {
        log_to_stderr(nullptr, level, layer, text);
    }
}

/// "smtp://host:587: ", without user and password; empty for a URL that is none.
std::string server_name(const std::string& text) {
    const auto read = url::parse(text);
    if (!read) return {};
    std::string name(read->scheme());
    return name.append("://").append(read->authority()).append(": ");
}

/// Returns true if the mail may have been accepted for this recipient.
bool is_uncertain(const smtp::recipient_result& r) {
    return r.problem && *r.problem == smtp::errc::uncertain;
}

/// The outcome for a recipient who was not accepted.
std::string outcome_of(const smtp::recipient_result& r) {
    if (is_uncertain(r)) return ": not known: " + explain_mail(*r.problem);
    if (r.reply.code != 0) return ": refused: " + r.reply.to_string();
    if (!r.problem || *r.problem == std::errc::operation_canceled) return ": not sent";
    return ": refused: " + explain_mail(*r.problem);
}

void report_refused(const send_settings& s, const std::vector<smtp::recipient_result>& all) {
    for (const smtp::recipient_result& r : all) {
        if (r.accepted) continue;
        complain(s, r.address + outcome_of(r));
    }
}

int report(const send_settings& s, const error& e) {
    if (const smtp::failure* const f = smtp::failure_of(e)) report_refused(s, f->recipients());
    complain(s, server_name(s.url) + explain_mail(e));
    return mail_exit_code_of(e);
}

/// The mail, and what has become of it.
struct delivery {
    const send_settings& settings;
    smtp::client client;
    bool interrupted = false;
    int code = send_interrupted;
};

task<> deliver(delivery& d) {
    auto sending = d.client.send(d.settings.mail);
    const auto sent = co_await as_result(sending);
    if (d.interrupted && !sent) {
        const smtp::failure* const f = smtp::failure_of(sent.error());
        if (f != nullptr) report_refused(d.settings, f->recipients());
        complain(d.settings, explain_interrupted(sent.error()));
    } else if (sent) {
        report_refused(d.settings, sent->recipients);
        const bool known = std::ranges::none_of(sent->recipients, is_uncertain);
        d.code = known ? send_ok : send_uncertain;
    } else {
        d.code = report(d.settings, sent.error());
    }
}

task<> note_signal(delivery& d, signal_set& signals) {
    co_await signals.next();
    d.interrupted = true;
}

task<> deliver_or_stop(delivery& d, signal_set& signals) {
    auto either = when_any(deliver(d), note_signal(d, signals));
    static_cast<void>(co_await as_result(either));
}

/// Prints the mail, and on standard error whom it goes to.
task<int> print(const send_settings& s) {
    if (s.client.verbose) {
        say("> MAIL FROM:<" + s.mail.envelope_sender() + '>');
        for (const std::string& one : s.mail.recipients()) say("> RCPT TO:<" + one + '>');
    }
    auto out = io::standard_output();
    if (!out) {
        complain(s, "cannot write the mail: " + out.error().code().message());
        co_return send_write_error;
    }
    io::stream_sink to(**out);
    smtp::message mail = s.mail;
    auto writing = mail.write_to(to);
    const auto written = co_await as_result(writing);
    if (written) co_return send_ok;
    const error& e = written.error();
    if (e.phase() == phase::send) {
        complain(s, "cannot write the mail: " + e.code().message());
        co_return send_write_error;
    }
    complain(s, "cannot print the mail: " + explain_mail(e));
    co_return mail_exit_code_of(e);
}

}  // namespace

int send_mail(const send_settings& s) {
    logger log(log_level::warning);
    if (s.silent && std::getenv("CORACLE_LOG") == nullptr) log.set_level(log_level::error);
    obey_environment(log);
    log.set_sink(&log_or_print, nullptr);
    if (s.client.verbose) log.set_level(log_layer::smtp, log_level::info);
    runtime_options on;
    on.log = &log;
    // A reader of our standard output that goes away must not end us.
    std::signal(SIGPIPE, SIG_IGN);
    if (s.dry_run) return block_on([&] { return print(s); }, on);
    // Before threads are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    delivery d{s, smtp::client(s.url, s.client, s.pool)};
    block_on([&] { return deliver_or_stop(d, signals); }, on);
    return d.code;
}

}  // namespace coracle::tool
