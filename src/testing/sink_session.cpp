#include "testing/sink_session.hpp"

#include "base/ascii.hpp"
#include "mime/text.hpp"
#include "testing/sink_parameters.hpp"

#include <coracle/mime/address.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace coracle::testing::detail {
namespace {

constexpr std::size_t login_bytes = 12'288;

/// "FROM:<a@b> SIZE=1": the address and what is behind it; nothing when it is malformed.
struct path {
    std::string address;
    std::string parameters;
};
std::optional<path> read_path(std::string_view text, std::string_view keyword) {
    if (upper(text.substr(0, keyword.size())) != keyword) return std::nullopt;
    text.remove_prefix(keyword.size());
    if (!text.starts_with('<')) return std::nullopt;
    bool quoted = false;
    std::size_t end = 1;
    for (; end != text.size() && (quoted || text[end] != '>'); ++end) {
        if (quoted && text[end] == '\\' && end + 1 != text.size()) {
            ++end;
        } else if (text[end] == '"') {
            quoted = !quoted;
        }
    }
    if (end == text.size()) return std::nullopt;
    path p{std::string(text.substr(1, end - 1)), {}};
    text.remove_prefix(end + 1);
    if (!text.empty() && !text.starts_with(' ')) return std::nullopt;
    p.parameters = coracle::detail::trim_blanks(text);
    return p;
}

task<std::expected<buffer, error>> receive_from(net::byte_stream* s) {
    auto r = co_await as_result(s->receive());
    co_return std::move(r);
}

/// A command as the dialogue keeps it: of AUTH without its initial response, but for that of SCRAM,
/// which holds no secret.
std::string without_credentials(std::string_view line) {
    std::string_view rest = line;
    if (upper(coracle::detail::take_item(rest, ' ')) != "AUTH") return std::string(line);
    const std::string mechanism = upper(coracle::detail::take_item(rest, ' '));
    if (rest.empty() || mechanism.starts_with("SCRAM-")) return std::string(line);
    return std::string(line.substr(0, line.size() - rest.size())) + "***";
}

std::string_view parameters_of(std::string_view line, std::string_view verb) noexcept {
    return coracle::detail::trim_blanks(line.substr(std::min(verb.size(), line.size())));
}

}  // namespace

sink_session::sink_session(const smtp_sink_options& o, sink_store& store, std::size_t index,
                           std::unique_ptr<net::byte_stream> stream)
    : options_(o), store_(store), index_(index), stream_(std::move(stream)),
      cut_(store.cut_of(index)) {}

void sink_session::say(std::string_view text) {
    std::string_view rest = text;
    while (!rest.empty()) {
        std::string_view line = coracle::detail::take_item(rest, '\n');
        if (line.ends_with('\r')) line.remove_suffix(1);
        store_.note('S', line);
    }
    out_ += text;
    if (!text.ends_with("\r\n")) out_ += "\r\n";
}

void sink_session::say_or(std::string_view usual) {
    if (next_line_.empty()) return say(usual);
    say(std::exchange(next_line_, {}));
}

void sink_session::fail(std::string_view text) {
    say(text);
    if (++errors_ < options_.errors) return;
    say("421 4.7.0 too many errors");
    over_ = true;
}

void sink_session::reset() noexcept {
    mail_ = false;
    binary_ = false;
    chunks_ = false;
    chunk_text_.clear();
    message_.sender.clear();
    message_.parameters.clear();
    message_.recipients.clear();
    message_.recipient_parameters.clear();
    message_.in_chunks = false;
}

std::vector<smtp::detail::channel_binding> sink_session::bindings() const {
    if (secured_ == nullptr || options_.tls == nullptr) return {};
    return smtp::detail::bindings_of(*secured_, secured_->own_certificate());
}

task<bool> sink_session::flush() {
    if (stream_ != nullptr && received_ >= cut_.received) {
        out_.clear();
        stream_->close(true);
        co_return false;
    }
    if (out_.empty()) co_return true;
    const std::uint64_t left = cut_.sent - std::min(cut_.sent, sent_);
    const bool cut = out_.size() > left;
    std::string bytes = std::exchange(out_, {});
    if (cut) bytes.resize(static_cast<std::size_t>(left));
    sent_ += bytes.size();
    if (!bytes.empty()) {
        const auto send = [&] { return stream_->send(bytes); };
        auto limited = with_timeout(options_.idle, send);
        auto sent = co_await as_result(limited);
        if (!sent) co_return false;
    }
    if (cut) stream_->close(true);
    co_return !cut;
}

task<bool> sink_session::receive() {
    auto flushing = flush();
    const bool flushed = co_await std::move(flushing);
    if (!flushed) co_return false;
    auto limited = with_timeout(options_.idle, receive_from(stream_.get()));
    auto got = co_await as_result(limited);
    if (!got || !*got) co_return false;
    std::string_view bytes = (*got)->view();
    // Bytes that came by then count.
    bytes = bytes.substr(0, static_cast<std::size_t>(
                                std::min<std::uint64_t>(bytes.size(), cut_.received - received_)));
    received_ += bytes.size();
    in_ += bytes;
    co_return true;
}

task<bool> sink_session::take_line(std::string& line) {
    for (;;) {
        const std::size_t end = in_.find('\n');
        // RFC 4954 section 4: tokens may be long.
        const bool is_login =
            in_login_ || (has_logins() && upper(std::string_view(in_).substr(0, 5)) == "AUTH ");
        const std::size_t most =
            is_login ? std::max(options_.command_bytes, login_bytes) : options_.command_bytes;
        if (std::min(end, in_.size()) > most) {
            say("500 5.5.2 line too long");
            over_ = true;
            co_return false;
        }
        if (end != std::string::npos) {
            line = in_.substr(0, end);
            in_.erase(0, end + 1);
            const bool strict = line.ends_with('\r') && line.find('\r') == line.size() - 1 &&
                                line.find('\0') == std::string::npos;
            if (strict) {
                line.pop_back();
                co_return true;
            }
            say("500 5.5.2 lines end with CRLF, and hold no NUL");
            over_ = true;
            co_return false;
        }
        auto receiving = receive();
        const bool more = co_await std::move(receiving);
        if (!more) co_return false;
    }
}

task<bool> sink_session::start_tls() {
    auto asking = by_rule("handshake", {});
    if (co_await std::move(asking) != verdict::carry_out) co_return false;
    auto handshake = tls::accept(*options_.tls, std::move(stream_));
    auto made = co_await as_result(handshake);
    if (!made) co_return false;
    secured_ = made->get();
    stream_ = *std::move(made);
    message_.secure = true;
    co_return true;
}

/// Closes in place of a reply, or says nothing any more.
task<> sink_session::leave(sink_rule::action how) {
    auto flushing = flush();
    co_await std::move(flushing);
    if (how != sink_rule::action::stall) co_return;
    auto waiting = forever();
    static_cast<void>(co_await as_result(waiting));
}

task<sink_session::verdict> sink_session::by_rule(std::string name, std::string line) {
    // The command before it may have failed, in spite of its rule.
    next_line_.clear();
    const auto rule = store_.rule_for(name, line);
    if (!rule) co_return verdict::carry_out;
    if (rule->what != sink_rule::action::reply) {
        auto leaving = leave(rule->what);
        co_await std::move(leaving);
        co_return verdict::over;
    }
    const bool positive = rule->text.starts_with('2') || rule->text.starts_with('3');
    if (rule->closes) over_ = true;
    if (positive) {
        next_line_ = rule->text;
        co_return verdict::carry_out;
    }
    say(rule->text);
    co_return verdict::done;
}

task<bool> sink_session::greet() {
    auto asking = by_rule("greeting", {});
    const verdict v = co_await std::move(asking);
    if (v == verdict::over) co_return false;
    if (v == verdict::done) {
        over_ = true;
        co_return true;
    }
    say_or("220 " + options_.hello + " ESMTP");
    co_return true;
}

task<> sink_session::run() {
    if (options_.tls != nullptr && options_.tls_from_start) {
        auto starting = start_tls();
        const bool started = co_await std::move(starting);
        if (!started) co_return;
    }
    message_.connection = index_;
    auto greeting = greet();
    bool goes_on = co_await std::move(greeting);
    while (goes_on && !over_) {
        std::string line;
        auto taking = take_line(line);
        goes_on = co_await std::move(taking);
        if (!goes_on) break;
        store_.note('C', without_credentials(line));
        auto doing = command(std::move(line));
        goes_on = co_await std::move(doing);
    }
    auto flushing = flush();
    co_await std::move(flushing);
    if (stream_ != nullptr) stream_->close();
}

task<bool> sink_session::command(std::string line) {
    std::string verb = upper(std::string_view(line).substr(0, line.find(' ')));
    auto asking = by_rule(verb, line);
    const verdict v = co_await std::move(asking);
    if (v == verdict::done && verb == "BDAT") {
        auto dropping = drop_chunk(std::string(parameters_of(line, verb)));
        co_return co_await std::move(dropping);
    }
    if (v != verdict::carry_out) co_return v == verdict::done;
    auto doing = carry_out(std::move(verb), std::move(line));
    const bool goes_on = co_await std::move(doing);
    co_return goes_on;
}

void sink_session::hello(std::string_view verb, std::string_view name) {
    const bool extended = verb != "HELO";
    if (options_.lmtp != (verb == "LHLO")) {
        fail("500 5.5.1 another protocol");
        return;
    }
    if (extended && !options_.extended) {
        fail("502 5.5.1 not known");
        return;
    }
    if (name.empty()) {
        fail("501 5.5.4 whom do I speak to?");
        return;
    }
    reset();
    greeted_ = true;
    extended_ = extended;
    message_.hello = name;
    if (!extended) {
        say_or("250 " + options_.hello);
        return;
    }
    std::string text = "250-" + options_.hello + "\r\n";
    const auto offer = [&text](bool yes, std::string_view what) {
        if (yes) text.append("250-").append(what).append("\r\n");
    };
    offer(options_.pipelining, "PIPELINING");
    offer(options_.eight_bit, "8BITMIME");
    offer(options_.utf8, "SMTPUTF8");
    offer(options_.chunking, "CHUNKING");
    offer(options_.binary && options_.chunking, "BINARYMIME");
    offer(options_.dsn, "DSN");
    offer(options_.enhanced_codes, "ENHANCEDSTATUSCODES");
    offer(options_.require_tls && secured_ != nullptr, "REQUIRETLS");
    offer(options_.tls != nullptr && secured_ == nullptr, "STARTTLS");
    if (has_logins()) {
        std::string mechanisms;
        std::string_view names = this->mechanisms();
        while (!names.empty()) {
            const std::string_view one = coracle::detail::take_item(names, ' ');
            if (one.ends_with("-PLUS") && secured_ == nullptr) continue;
            mechanisms.append(" ").append(one);
        }
        offer(true, "AUTH" + mechanisms);
    }
    text += "250 SIZE " + std::to_string(options_.message_bytes);
    say_or(text);
}

void sink_session::mail_from(std::string_view line) {
    const auto p = read_path(line.substr(std::min<std::size_t>(5, line.size())), "FROM:");
    if (!greeted_ || mail_) return fail("503 5.5.1 not now");
    if (!may_send()) return fail("530 5.7.0 authentication required");
    if (!p) return fail("501 5.5.4 MAIL FROM:<address>");
    const bool binary = options_.binary && options_.chunking;
    const auto with = read_parameters(
        p->parameters, {{"SIZE", extended_},
                        {"BODY", extended_ && (options_.eight_bit || binary)},
                        {"SMTPUTF8", extended_ && options_.utf8},
                        {"RET", extended_ && options_.dsn},
                        {"ENVID", extended_ && options_.dsn},
                        {"REQUIRETLS", extended_ && options_.require_tls && secured_ != nullptr},
                        {"AUTH", extended_ && has_logins()}});
    if (!with.refusal.empty()) return fail(with.refusal);
    if (with.body == "8BITMIME" && !options_.eight_bit) {
        return fail("555 5.5.4 no BODY=8BITMIME");
    }
    if (with.body == "BINARYMIME" && !binary) return fail("555 5.5.4 no BODY=BINARYMIME");
    const bool ascii = mime::detail::is_ascii(p->address);
    if (!p->address.empty() && (!mime::is_address(p->address) || (!ascii && !with.utf8))) {
        return fail("553 5.1.7 no address");
    }
    if (with.size > options_.message_bytes) return fail("552 5.3.4 too large");
    mail_ = true;
    binary_ = with.body == "BINARYMIME";
    message_.sender = p->address;
    message_.parameters = p->parameters;
    say_or("250 2.1.0 ok");
}

void sink_session::rcpt_to(std::string_view line) {
    const auto p = read_path(line.substr(std::min<std::size_t>(5, line.size())), "TO:");
    if (!mail_) return fail("503 5.5.1 MAIL first");
    // Every server takes mail to its postmaster, in whichever case (RFC 5321 section 4.5.1).
    const bool good = p && (mime::is_address(p->address) || upper(p->address) == "POSTMASTER");
    if (!good) return fail("501 5.1.3 RCPT TO:<address>");
    const bool reports = extended_ && options_.dsn;
    const auto with = read_parameters(p->parameters, {{"NOTIFY", reports}, {"ORCPT", reports}});
    if (!with.refusal.empty()) return fail(with.refusal);
    if (message_.recipients.size() >= options_.recipients) {
        // No error: a client cannot know the limit.
        return say("452 4.5.3 too many recipients");
    }
    message_.recipients.push_back(p->address);
    message_.recipient_parameters.push_back(p->parameters);
    say_or("250 2.1.5 ok");
}

task<bool> sink_session::carry_out(std::string verb, std::string line) {
    const std::string_view rest = parameters_of(line, verb);
    const bool is_alone = verb == "DATA" || verb == "RSET" || verb == "QUIT" || verb == "STARTTLS";
    if (is_alone && !rest.empty()) {
        next_line_.clear();
        fail("501 5.5.4 " + verb + " has no argument");
    } else if (verb == "EHLO" || verb == "HELO" || verb == "LHLO") {
        hello(verb, rest);
        next_line_.clear();
    } else if (verb == "MAIL") {
        mail_from(line);
    } else if (verb == "RCPT") {
        rcpt_to(line);
    } else if (verb == "DATA") {
        if (message_.recipients.empty() || chunks_ || binary_) {
            fail(binary_ ? "503 5.5.1 BINARYMIME wants BDAT" : "503 5.5.1 no recipients");
            co_return true;
        }
        auto taking = take_data();
        const bool taken = co_await std::move(taking);
        co_return taken;
    } else if (verb == "BDAT") {
        auto taking = take_chunk(std::string(rest));
        const bool taken = co_await std::move(taking);
        co_return taken;
    } else if (verb == "AUTH") {
        auto logging = log_in(std::string(rest));
        const bool logged = co_await std::move(logging);
        co_return logged;
    } else if (verb == "STARTTLS" && options_.tls != nullptr && secured_ == nullptr) {
        say_or("220 2.0.0 go ahead");
        // Bytes in clear behind it are nobody's command.
        in_.clear();
        auto flushing = flush();
        const bool flushed = co_await std::move(flushing);
        if (!flushed) co_return false;
        // RFC 3207 section 4.2: what was said in clear is forgotten.
        greeted_ = false;
        message_.user.clear();
        message_.mechanism.clear();
        reset();
        auto starting = start_tls();
        const bool started = co_await std::move(starting);
        co_return started;
    } else if (verb == "RSET") {
        reset();
        say_or("250 2.0.0 ok");
    } else if (verb == "NOOP") {
        say_or("250 2.0.0 ok");
    } else if (verb == "VRFY" && !rest.empty()) {
        say_or("252 2.5.0 send it, and see");
    } else if (verb == "QUIT") {
        say_or("221 2.0.0 bye");
        over_ = true;
    } else if (!next_line_.empty()) {
        say(std::exchange(next_line_, {}));
    } else {
        fail("500 5.5.1 not known");
    }
    co_return true;
}

task<bool> sink_session::log_in(std::string line) {
    if (!has_logins() || !greeted_ || mail_ || !message_.user.empty()) {
        fail("503 5.5.1 not now");
        co_return true;
    }
    std::string_view rest = line;
    const std::string name = upper(coracle::detail::take_item(rest, ' '));
    // EXTERNAL goes by what TLS has shown (RFC 4422 appendix A).
    const bool possible = name != "EXTERNAL" || (secured_ && secured_->peer_certificate());
    const bool offered =
        possible &&
        (' ' + std::string(mechanisms()) + ' ').find(' ' + name + ' ') != std::string::npos;
    std::vector<smtp::detail::channel_binding> bound;
    if (mechanisms().find("-PLUS") != std::string_view::npos) bound = bindings();
    const auto login =
        offered ? make_login(name, options_, std::move(bound), stream_->owner().random()) : nullptr;
    if (login == nullptr) {
        fail("504 5.5.4 no such mechanism");
        co_return true;
    }
    std::optional<std::string> said;
    if (!rest.empty()) said = rest == "=" ? std::string() : mime::base64_decode(rest);
    if (!rest.empty() && !said) {
        fail("501 5.5.2 no base64");
        co_return true;
    }
    for (;;) {
        const sink_login::step s =
            login->take(said ? std::optional<std::string_view>(*said) : std::nullopt);
        if (s.what == sink_login::verdict::accepted) {
            message_.user = s.user.empty() ? options_.user : s.user;
            message_.mechanism = name;
            say_or("235 2.7.0 welcome");
            co_return true;
        }
        if (s.what == sink_login::verdict::refused) {
            fail("535 5.7.8 refused");
            co_return true;
        }
        say("334 " + mime::base64_encode(s.challenge));
        std::string response;
        in_login_ = true;
        auto taking = take_line(response);
        const bool taken = co_await std::move(taking);
        in_login_ = false;
        if (!taken) co_return false;
        store_.note('C', "***");
        said = mime::base64_decode(response);
        if (response == "*" || !said) {
            fail("501 5.7.0 cancelled");
            co_return true;
        }
    }
}

}  // namespace coracle::testing::detail
