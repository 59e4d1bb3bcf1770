#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/condition.hpp>
#include <coracle/runtime/task.hpp>
#include <coracle/tls/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tls {
class server_context;
}

namespace coracle::testing {

struct sink_message;

struct smtp_sink_options {
    /// "127.0.0.1:0", "unix:/path". Default: a loopback port that the system chooses.
    std::string listen = "127.0.0.1:0";
    /// Offers STARTTLS, or speaks TLS from the first byte. Default: none.
    std::shared_ptr<tls::server_context> tls = {};
    /// As `tls`, with a certificate of its own for localhost, 127.0.0.1 and ::1. Default: no.
    bool self_signed = false;
    bool tls_from_start = false;  ///< as smtps; else STARTTLS
    bool lmtp = false;            ///< LHLO, and a reply for each recipient
    std::string hello = "sink.test";

    // Extensions that it offers.
    bool extended = true;  ///< EHLO; else HELO alone
    bool pipelining = true;
    bool eight_bit = true;
    bool utf8 = true;
    bool chunking = true;
    bool binary = true;
    bool dsn = true;
    bool enhanced_codes = true;
    bool require_tls = true;

    /// The login that senders must give; empty: none.
    std::string user = {};
    secret password = {};
    secret token = {};
    /// Names with blanks between them.
    std::string mechanisms =
        "SCRAM-SHA-256-PLUS SCRAM-SHA-256 OAUTHBEARER XOAUTH2 CRAM-MD5 PLAIN LOGIN";

    /// Takes any user with any password, by PLAIN and LOGIN, and mail without a login, too; `user`
    /// and what follows it do not count. Default: no.
    bool any_login = false;

    /// Takes each mail in place of the sink's keeping it, before the sink replies; it may move from
    /// the mail. False refuses the mail for now (452). Called on the loop of the sink, for several
    /// connections at a time; throws nothing. Default: the sink keeps them.
    std::function<task<bool>(sink_message&)> deliver = {};

    // Limits.
    std::size_t connections = 100;                  ///< at a time; others wait
    std::size_t recipients = 1000;                  ///< of one mail
    std::size_t message_bytes = 256 * 1024 * 1024;  ///< of one mail; said with SIZE
    std::size_t messages = 100'000;                 ///< that are kept
    std::size_t kept_bytes = std::size_t{1} << 30;  ///< of all of them, with their envelopes
    std::size_t command_bytes = 4096;               ///< of a line; 12,288 of one of a login
    std::size_t errors = 20;                        ///< of a connection, which is closed then
    duration idle = std::chrono::minutes(5);        ///< without a byte
};

/// A mail that a sink has accepted.
struct sink_message {
    std::size_t number = 0;      ///< from 1 on
    std::size_t connection = 0;  ///< from 0 on
    std::string hello = {};      ///< of EHLO
    std::string sender = {};
    std::string parameters = {};  ///< of MAIL, as they were written
    std::vector<std::string> recipients = {};
    std::vector<std::string> recipient_parameters = {};
    std::string text = {};  ///< as it was meant: without the dots of SMTP
    std::string user = {};
    std::string mechanism = {};
    bool secure = false;
    bool in_chunks = false;
    std::int64_t unix_time = 0;

    /// The bytes of its text and its envelope, which count towards `smtp_sink_options::kept_bytes`.
    std::size_t size() const noexcept;
};

/// A fault of a sink, once or for ever.
struct sink_rule {
    enum class action : std::uint8_t {
        reply,  ///< says `text`; what is no 2xx or 3xx is not carried out either
        close,  ///< closes in place of a reply
        stall,  ///< says nothing any more
    };

    /// "greeting", "EHLO", "MAIL", "RCPT", "DATA", "BDAT", "end of data", "AUTH", "STARTTLS"...;
    /// "handshake": that of TLS, in place of which it closes or stalls.
    std::string command = {};
    /// Only where the line of the command holds this.
    std::string containing = {};
    action what = action::reply;
    /// A whole reply, of one line or more with CRLF between them.
    std::string text = {};
    /// Closes behind the reply; behind a positive one, when the command has been carried out.
    bool closes = false;
    std::size_t times = SIZE_MAX;
};

/// A small SMTP server for tests that keeps what it gets, and misbehaves on cue. Strict: lines end
/// with CRLF, and a mail ends with CRLF.CRLF and nothing else (a CR or an LF alone ends the
/// connection), so that nobody can smuggle a second mail into the first. Every number has a limit.
/// Its functions may be called from any thread.
class smtp_sink {
public:
    using options = smtp_sink_options;

    /// Listens from now on, on a loop and a thread of its own. Throws `exception` when the address
    /// cannot be had.
    explicit smtp_sink(options o = {});
    /// Listens as a task of the loop `on`, which must outlive it: for simulations. From the thread
    /// of that loop, or before it runs.
    explicit smtp_sink(loop& on, options o = {});
    /// As `stop`.
    ~smtp_sink();
    smtp_sink(const smtp_sink&) = delete;
    smtp_sink& operator=(const smtp_sink&) = delete;

    const net::address& address() const noexcept;
    std::uint16_t port() const noexcept { return address().port(); }
    /// "smtp://127.0.0.1:40123", smtps or lmtp as it is.
    std::string url() const;
    /// The certificate to trust, PEM: with `self_signed`, else empty.
    const std::string& authorities() const noexcept;

    std::size_t count() const;
    /// Those that are kept, in order.
    std::vector<sink_message> messages() const;
    /// By its number; throws `std::out_of_range`.
    sink_message message(std::size_t number) const;
    /// Forgets one, or all. Numbers are not used again.
    void remove(std::size_t number);
    void clear();
    std::size_t connections() const;
    /// Lines that it got and sent, of all connections: "C: EHLO [127.0.0.1]", "S: 250 ...". The
    /// last 10,000. Passwords and tokens of logins are "***".
    std::vector<std::string> dialogue() const;
    /// Blocks until it has accepted so many, at most for `limit`; then false. Not from the thread
    /// of the sink's loop.
    bool wait_for(std::size_t count, duration limit = std::chrono::seconds(10)) const;

    void misbehave(sink_rule rule);
    void behave();
    /// Resets connection `index` when it has received, or sent, so many bytes. What was received by
    /// then counts; replies to it are lost.
    void cut_after_received(std::size_t index, std::uint64_t bytes);
    void cut_after_sent(std::size_t index, std::uint64_t bytes);

    /// Accepts nothing any more and cuts what is left; with a thread of its own, returns when that
    /// has ended. Once more is harmless. Mails stay.
    void stop();
    /// On a loop, after `stop`: completes when it has ended.
    task<> stopped();

private:
    struct core;
    std::shared_ptr<core> core_;
};

}  // namespace coracle::testing
