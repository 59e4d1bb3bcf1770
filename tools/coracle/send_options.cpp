#include "send_options.hpp"

#include "client_arguments.hpp"
#include "mail_arguments.hpp"
#include "program_arguments.hpp"
#include "settings.hpp"

#include <coracle/smtp/client_settings.hpp>

namespace coracle::tool {
namespace {

constexpr const char* about = R"(Send a mail to a server: smtp://, smtps:// or lmtp://.

The text is that of --text, --html or both, or else standard input. Names, subjects and texts are
UTF-8. Bcc recipients are in the envelope and never in the header. Nothing is sent unless the server
accepts all recipients.
)";

constexpr const char* footer = R"(URL:
  smtp://host:587, smtps://host, lmtp://host:24. Default ports: 25, 465 and 24. The URL may contain
  user and password: smtp://ada:secret@mail.example.com:587
  mx: sends to the MX hosts of each recipient's domain; mx:2525 if they listen on that port

Environment:
  CORACLE_SMTP_<OPTION>
                   any option of the client: CORACLE_SMTP_AUTHENTICATION_USER=ada,
                   CORACLE_SMTP_AUTHENTICATION_SECRET=... --config overrides the environment,
                   --options overrides --config, and other options override both
  all_proxy, no_proxy
                   the proxy, and the hosts that are reached without it
  CORACLE_LOG, CORACLE_BACKEND
                   as for `coracle serve`

Exit codes, as those of curl where it has them:
  0  the server has accepted the mail   55  the server refused the mail, or recipients
  1  neither smtp, smtps nor lmtp       56  receiving failed
  2  wrong usage, or no mail            58  our certificate or key cannot be read
  3  the URL is malformed               59  a TLS option cannot be used
  5  the proxy has no address           60  the certificate of the server is not trusted
  6  the host has no address            63  the mail is larger than the server accepts
  7  cannot connect                     64  TLS is required, and not offered
  8  a malformed reply                  67  the credentials were refused
 23  standard output cannot be written  77  the CA certificates cannot be read
 26  a file cannot be read              94  the proxy rejected the credentials
 28  timeout                            97  the proxy refused the connection
 35  TLS failed                         98  the server requires a certificate
 43  an invalid argument               101  the mail was sent, but no reply received: it may
 45  no such network interface               have been accepted
 53  the provider cannot be loaded     130  interrupted

Examples:
  echo Hello | coracle smtp send smtp://localhost:1025 --from ada@x.org --to bob@y.org
  coracle smtp send smtp://mail.x.org:587 --starttls required -u ada:secret \
      --from 'Ada <ada@x.org>' --to 'Bob <bob@y.org>' --cc crew@y.org --subject Report --text @report.txt --attach report.pdf
  coracle smtp send smtps://mail.x.org -u ada:secret --from ada@x.org --to bob@y.org \
      --html '<p>Look: <img src="cid:boat.png">' --inline boat.png
  coracle smtp send --dry-run --from ada@x.org --to bob@y.org --text Hi --dkim x.org:2026:key.pem
  coracle smtp send smtp://localhost:1025 --raw mail.eml --to bob@y.org)";

}  // namespace

/// The texts of the arguments, before they are interpreted.
struct send_options::texts {
    send_settings settings;
    mail_arguments mail;
    given_options<smtp::client_options> given;
    connection_texts connection;
    std::string user;
    std::string bearer;
    std::string starttls;
    double total = 0;
    double connect = 0;
    double retry_delay = 0;
};

send_options::send_options(CLI::App& smtp)
    : texts_(std::make_unique<texts>()), command_(smtp.add_subcommand("send", about)) {
    CLI::App& send = *command_;
    send.footer(footer);
    send.set_help_flag("-h,--help", "Print this help and exit");
    send.add_option("URL", texts_->settings.url, "The server; not needed with --dry-run")
        ->type_name("");
    add_addresses();
    add_content();
    add_credentials();
    add_connection();
    add_limits();
    add_report();
}

void send_options::add_addresses() {
    CLI::App& send = *command_;
    mail_arguments& m = texts_->mail;
    constexpr const char* group = "Addresses: 'Ada <ada@x.org>, bob@y.org'; each may be repeated";
    add_list(send, group, "--from,--mail-from", m.from, "LIST", "The author");
    add_list(send, group, "--to,--mail-rcpt", m.to, "LIST", "Recipients");
    add_list(send, group, "--cc", m.cc, "LIST", "Recipients of a copy");
    add_list(send, group, "--bcc", m.bcc, "LIST", "Recipients that the others do not see");
    add_list(send, group, "--reply-to", m.reply_to, "LIST", "Addresses for replies");
    as_often_as_wanted(send.add_option("--envelope-from", m.envelope_from,
                                       "Address for delivery reports; '' for none. Default:\n"
                                       "the author"))
        ->type_name("ADDRESS")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->group(group);
}

void send_options::add_content() {
    CLI::App& send = *command_;
    mail_arguments& m = texts_->mail;
    constexpr const char* group = "Mail";
    const auto one = [&](const char* names, std::optional<std::string>& into, const char* type,
                         const char* what) {
        send.add_option(names, into, what)->type_name(type)->group(group);
    };
    one("--subject", m.subject, "TEXT", "The subject");
    one("--text", m.text, "TEXT", "Plain text, or @FILE; @- is standard input");
    one("--html", m.html, "TEXT", "HTML, or @FILE; with --text, as an alternative to it");
    add_list(send, group, "--attach", m.attachments, "FILE",
             "Attach FILE, '-' is standard input; optionally\n"
             ";type=image/png, ;name=a.png. May be repeated");
    add_list(send, group, "--inline", m.inlines, "FILE",
             "A file that the HTML shows as cid:NAME; optionally ;type=...,\n"
             ";id=NAME. May be repeated");
    add_list(send, group, "-H,--header", m.headers, "HEADER",
             "Any other header, 'Name: value'; may be repeated");
    one("--raw,-T,--upload-file", m.raw, "FILE",
        "Send the complete mail (RFC 5322) in FILE, '-' is standard\n"
        "input; --from and --to are its envelope");
    add_list(send, group, "--dkim", m.signers, "DOMAIN:SELECTOR:FILE",
             "Sign with the key in FILE (PEM, RSA or Ed25519); may be given\n"
             "twice");
}

void send_options::add_credentials() {
    CLI::App& send = *command_;
    texts& t = *texts_;
    smtp::client_options& c = t.settings.client;
    constexpr const char* group = "Authentication and TLS";
    not_empty(add_text(send, group, "-u,--user", t.user, "USER:PASSWORD", "User and password"));
    not_empty(add_text(send, group, "--bearer,--oauth2-bearer", t.bearer, "TOKEN",
                       "An OAuth 2.0 token instead of the password"));
    t.given.add(add_text(send, group, "--auth", c.authentication.mechanisms, "NAMES",
                         "Use only these mechanisms: SCRAM-SHA-256,PLAIN. Default: the\n"
                         "best that both sides support"),
                [](auto& o) -> auto& { return o.authentication.mechanisms; });
    t.given.add(add_flag(send, group, "--auth-in-clear", c.authentication.in_clear,
                         "Send passwords and tokens even without TLS"),
                [](auto& o) -> auto& { return o.authentication.in_clear; });
    add_text(send, group, "--starttls", t.starttls, "WHEN",
             "off, wanted (if the server offers it) or required. Default:\nwanted")
        ->check(CLI::IsMember({"off", "wanted", "required"}).description(""));
    t.given.add(add_flag(send, group, "--require-tls", c.require_tls,
                         "Require TLS at every server on the way (RFC 8689)"),
                [](auto& o) -> auto& { return o.require_tls; });
}

void send_options::add_connection() {
    CLI::App& send = *command_;
    texts& t = *texts_;
    constexpr const char* group = "Connection";
    add_trust(send, group, t.settings.client, t.given);
    add_proxy_url(send, group, t.connection);
    add_no_proxy(send, group, t.settings.client, t.given);
    add_families(send, group, t.connection);
    t.given.add(add_text(send, group, "--hello", t.settings.client.hello, "NAME",
                         "The name in EHLO. Default: the local address"),
                [](auto& o) -> auto& { return o.hello; });
    not_empty(add_text(send, group, "--config", t.connection.config, "FILE",
                       "Read client options from a JSON file: {\"hello\": \"me\"}.\n"
                       "'-' is standard input"));
    add_list(send, group, "--options", t.connection.others, "KEY=VALUE,...",
             "Set client options; several add up");
}

void send_options::add_limits() {
    CLI::App& send = *command_;
    texts& t = *texts_;
    smtp::client_options& c = t.settings.client;
    constexpr const char* group = "Timeouts and retries";
    add_number(send, group, "-m,--max-time", t.total, "SECONDS", 0.0, 1e7,
               "Time limit for everything. Default: none");
    add_number(send, group, "--connect-timeout", t.connect, "SECONDS", 0.0, 1e7,
               "Timeout for DNS, TCP, proxy and TLS. Default: 30");
    t.given.add(add_number(send, group, "--retry", c.retry.retries, "N", 0U, 1000U,
                           "Retries, if the mail was certainly not accepted and may be\n"
                           "later. Default: 0"),
                [](auto& o) -> auto& { return o.retry.retries; });
    add_number(send, group, "--retry-delay", t.retry_delay, "SECONDS", 0.0, 3600.0,
               "Delay before the first retry; doubled for each further\none. Default: 1");
    t.given.add(add_flag(send, group, "--allow-refused,--mail-rcpt-allowfails", c.rcpt_allow_fails,
                         "Send to the accepted recipients even if others are refused"),
                [](auto& o) -> auto& { return o.rcpt_allow_fails; });
}

void send_options::add_report() {
    CLI::App& send = *command_;
    texts& t = *texts_;
    constexpr const char* group = "Reports";
    add_flag(send, group, "--dry-run", t.settings.dry_run,
             "Print the mail to standard output, and send nothing");
    add_flag(send, group, "-s,--silent", t.settings.silent, "Print no errors");
    t.given.add(add_flag(send, group, "-v,--verbose", t.settings.client.verbose,
                         "Print what is sent ('>') and received ('<'), without secrets"),
                [](auto& o) -> auto& { return o.verbose; });
}

send_options::~send_options() = default;

bool send_options::chosen() const {
    return command_->parsed();
}

send_settings send_options::settings() const {
    const texts& t = *texts_;
    send_settings s = t.settings;
    if (s.url.empty() && !s.dry_run) throw failure("no server: give its URL, smtp://host:587");
    s.client = {};
    read_client_options(s.client, s.pool, t.connection);
    t.given.apply(s.client, t.settings.client);
    // There is one mail: QUIT follows it.
    s.pool.messages = 1;
    if (!t.starttls.empty()) {
        check_read("--starttls", smtp::read_options(s.client, "starttls=" + t.starttls));
    }
    if (!t.user.empty()) {
        auto [user, password] = user_and_password("--user", t.user);
        s.client.authentication.user = std::move(user);
        s.client.authentication.password = std::move(password);
    }
    if (!t.bearer.empty()) {
        hide_argument(t.bearer);
        s.client.authentication.token = secret(std::string(t.bearer));
    }
    if (command_->count("--max-time") != 0) s.client.total_timeout = seconds_of(t.total);
    if (command_->count("--connect-timeout") != 0) {
        s.client.connect_timeout = seconds_of(t.connect);
    }
    if (command_->count("--retry-delay") != 0) s.client.retry.delay = seconds_of(t.retry_delay);
    understand_connection(*command_, t.connection, s.client);
    s.mail = mail_of(t.mail);
    return s;
}

}  // namespace coracle::tool
