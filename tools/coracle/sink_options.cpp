#include "sink_options.hpp"

#include "client_arguments.hpp"
#include "serve_command.hpp"
#include "settings.hpp"

#include <coracle/net/address.hpp>
#include <coracle/tls/context.hpp>

#include <algorithm>

namespace coracle::tool {
namespace {

constexpr const char* about = R"(Catch mails in place of a mail server, and show them on a web page.

For testing programs that send mail: every mail sent to ADDRESS is kept here, and never delivered.
The page lists the mails live, with text, HTML (without scripts and remote content), source and
attachments. By default only programs on this machine can reach it.
)";

constexpr const char* footer = R"(Signals:
  SIGINT, SIGTERM  stop

Environment:
  CORACLE_LOG, CORACLE_BACKEND
                   as for `coracle serve`

Exit codes:
  0  stopped by a signal
  1  cannot listen, or write to the directory: the reason is on standard error
  2  wrong usage

Examples:
  coracle smtp sink
  coracle smtp sink :2525 --web :8080 --web-host mail.dev.example.org
  coracle smtp sink --directory ~/caught --verbose
  coracle smtp sink --starttls --user ada:secret)";

void check_address(const std::string& text) {
    if (net::address::parse(text)) return;
    throw wrong_usage("cannot listen on '" + text +
                      "': that is no address (127.0.0.1:1025, [::1]:1025, :1025 for every IPv4 "
                      "address, unix:/path)");
}

}  // namespace

/// The texts of the arguments, before they are interpreted.
struct sink_options::texts {
    sink_settings settings;
    std::string address = "127.0.0.1:1025";
    std::string web = "127.0.0.1:8025";
    std::string user;
    std::vector<std::string> certificates;
    std::vector<std::string> keys;
    std::string password_file;
    bool no_web = false;
    bool starttls = false;
    bool tls = false;
};

void sink_options::check_tls_options(const texts& t) {
    const char* const of_a_certificate = !t.keys.empty()            ? "--tls-key"
                                         : !t.password_file.empty() ? "--tls-password-file"
                                                                    : nullptr;
    if (of_a_certificate != nullptr && t.certificates.empty()) {
        throw wrong_usage(std::string(of_a_certificate) + " needs --tls-cert");
    }
    if (!t.certificates.empty() && !t.tls && !t.starttls) {
        throw wrong_usage("--tls-cert needs --starttls or --tls");
    }
}

sink_options::sink_options(CLI::App& smtp)
    : texts_(std::make_unique<texts>()), command_(smtp.add_subcommand("sink", about)) {
    CLI::App& sink = *command_;
    sink.footer(footer);
    sink.set_help_flag("-h,--help", "Print this help and exit");
    sink.add_option("ADDRESS", texts_->address,
                    "The address for mail: 127.0.0.1:1025, :1025, unix:/path. Port\n"
                    "0 is a free one. Default: 127.0.0.1:1025")
        ->type_name("");
    add_page();
    add_mail();
    add_limits();
}

void sink_options::add_page() {
    CLI::App& sink = *command_;
    texts& t = *texts_;
    constexpr const char* group = "Page";
    add_text(sink, group, "--web", t.web, "ADDRESS",
             "The address of the page. Anyone who reaches it can read and\n"
             "delete the mails. Default: 127.0.0.1:8025");
    add_list(sink, group, "--web-host", t.settings.web_hosts, "NAME",
             "A host name of the page, besides IP addresses and localhost;\n"
             "may be repeated");
    add_flag(sink, group, "--no-web", t.no_web, "No page")->excludes("--web", "--web-host");
}

void sink_options::add_mail() {
    CLI::App& sink = *command_;
    texts& t = *texts_;
    constexpr const char* group = "Mail";
    not_empty(add_text(sink, group, "--directory", t.settings.directory, "DIR",
                       "Also keep all mails in DIR, a Maildir; deleting a mail on the\n"
                       "page keeps its file"));
    add_flag(sink, group, "--lmtp", t.settings.mail.lmtp, "Speak LMTP");
    not_empty(add_text(sink, group, "--user", t.user, "USER:PASSWORD",
                       "Accept mail only from this user"));
    add_flag(sink, group, "--any-login", t.settings.mail.any_login,
             "Also accept any user with any password")
        ->excludes("--user");
    add_flag(sink, group, "--starttls", t.starttls, "Offer STARTTLS");
    add_flag(sink, group, "--tls", t.tls, "Use TLS from the first byte")->excludes("--starttls");
    not_empty(add_list(sink, group, "--tls-cert", t.certificates, "FILE",
                       "The certificate for --starttls or --tls. Default: a\nself-signed one"));
    not_empty(add_list(sink, group, "--tls-key", t.keys, "FILE",
                       "Its private key. Default: it is in the file of the certificate"));
    not_empty(add_text(sink, group, "--tls-password-file", t.password_file, "FILE",
                       "A file whose first line is the password of the key"));
    add_flag(sink, group, "-v,--verbose", t.settings.verbose,
             "Print a line to standard error for each mail");
}

void sink_options::add_limits() {
    CLI::App& sink = *command_;
    mailbox_limits& l = texts_->settings.limits;
    constexpr const char* group = "Limits; the oldest mails are removed to keep to them";
    constexpr std::size_t most = std::size_t{1} << 40;
    const auto size = [&](const char* name, std::size_t& into, const char* what) {
        sink.add_option(name, into, what)
            ->transform(CLI::AsSizeValue(false).description(""))
            ->check(CLI::Range(std::size_t{1}, most).description(""))
            ->type_name("SIZE")
            ->group(group);
    };
    add_number(sink, group, "--max-messages", l.messages, "N", std::size_t{1},
               std::size_t{1'000'000}, "The most mails kept. Default: 1000");
    size("--max-bytes", l.bytes, "The most bytes of all mails kept. Default: 256M");
    size("--max-message", l.message_bytes, "Refuse larger mails. Default: 32M");
}

sink_options::~sink_options() = default;

bool sink_options::chosen() const {
    return command_->parsed();
}

sink_settings sink_options::settings() const {
    const texts& t = *texts_;
    sink_settings s = t.settings;
    s.mail.listen = t.address;
    s.mail.hello = "localhost";
    s.mail.connections = 50;
    check_address(s.mail.listen);
    if (!t.no_web) {
        check_address(t.web);
        s.web = t.web;
    }
    s.limits.message_bytes = std::min(s.limits.message_bytes, s.limits.bytes);
    if (!t.user.empty()) {
        auto [user, password] = user_and_password("--user", t.user);
        s.mail.user = std::move(user);
        s.mail.password = std::move(password);
    }
    s.mail.tls_from_start = t.tls;
    check_tls_options(t);
    if (!t.tls && !t.starttls) return s;
    s.mail.self_signed = t.certificates.empty();
    if (!s.mail.self_signed) {
        tls::server_options o;
        o.certificates = certificates_of(t.certificates, t.keys, t.password_file);
        try {
            s.mail.tls = std::make_shared<tls::server_context>(o);
        } catch (const exception& e) {
            throw failure("cannot speak TLS: " + e.error().code().message() + ": " +
                          std::string(e.error().subject()));
        }
    }
    return s;
}

}  // namespace coracle::tool
