#include "get_options.hpp"

#include "cli_options.hpp"
#include "settings.hpp"

#include <coracle/http/client_settings.hpp>
#include <coracle/http/field_id.hpp>

#include <chrono>

namespace coracle::tool {

struct get_options::texts {
    get_settings settings;
    std::vector<std::string> fields;
    std::string user;
    std::string bearer;
    std::string proxy;
    std::string proxy_user;
    std::string cookies;
    std::string referer;
    std::string range;
    std::string rate;
    std::string resume_at;
    std::string others;
    double total = 0;
    double connect = 0;
    double retry_delay = 0;
    unsigned redirects = 50;
    bool digest = false;
    bool location = false;
    bool no_compressed = false;
    bool compressed = false;
    bool all_at_once = false;
    bool resume = false;
    bool ipv4 = false;
    bool ipv6 = false;
};

namespace {

constexpr const char* about = R"(Ask for URLs, and write the answers to files or standard output.

One answer goes to standard output; those of several URLs go to files that are named after them. A
file is written as FILE.part, and gets its name when all of it is there; what was received stays in
FILE.part when the transfer breaks or is interrupted, and --continue goes on with it. Options that
curl has too mean what they mean there.
)";

constexpr const char* footer = R"(Exit codes, as those of curl:
  0  all went well                     28  a time limit passed
  1  a scheme that is none of ours     33  the server cannot go on where the file ends
  2  wrong usage                       35  TLS failed
  3  no URL                            47  too many redirects
  5  the proxy's address is none       52  no answer
  6  the host has no address           56  receiving failed
  7  no connection                     58  our certificate or key cannot be read
 18  the answer ended early            60  the certificate is not trusted
 22  a status of 400 or above (-f)     77  the authorities cannot be read
 23  a file cannot be written          94  the proxy wants other credentials
 26  a file to send cannot be read     97  the proxy refused
 43  an argument that makes no sense  100  the checksum is another; the file is removed
                                      130  interrupted
Of several failures the first one tells.

Examples:
  coracle get https://example.com/
  coracle get -L -O https://example.com/large.iso --sha256 2c26b46b68ffc68ff99b453c1d3041341342...
  coracle get --continue -O https://example.com/large.iso
  coracle get -Z https://example.com/a.iso https://example.com/b.iso
  coracle get --json '{"name":"Ada"}' https://example.com/people
  coracle get -F photo=@ada.jpg -u ada:secret https://example.com/upload
  coracle get -v --timing https://example.com/ -o -)";

duration seconds(double n) {
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(n));
}

/// "user:password".
http::credentials credentials_of(const char* option, const std::string& text,
                                 http::auth_scheme scheme) {
    const std::size_t at = text.find(':');
    if (at == std::string::npos) {
        throw failure(std::string("cannot read ") + option + ": write it as in " + option +
                      " user:password");
    }
    return {scheme, text.substr(0, at), secret(text.substr(at + 1))};
}

/// "Name: value", or "Name;" for an empty one. "Name:" asks for none.
std::pair<std::string, std::string> field_of(const std::string& text) {
    const std::size_t at = text.find_first_of(":;");
    const bool ends = at + 1 == text.size();
    if (at == std::string::npos || at == 0 || (text[at] == ';' && !ends)) {
        throw failure("cannot read --header '" + text + "': write it as in --header 'Name: value'");
    }
    const std::size_t value = text.find_first_not_of(" \t", at + 1);
    return {text.substr(0, at), value == std::string::npos ? "" : text.substr(value)};
}

void read_into(http::client_options& o, const char* option, const std::string& text) {
    const auto read = http::read_options(o, text);
    if (!read) {
        throw failure(std::string("cannot read ") + option + ": " +
                      std::string(read.error().subject()));
    }
}

CLI::Option* text(CLI::App& get, const char* group, const char* names, std::string& into,
                  const char* type, const char* what) {
    return get.add_option(names, into, what)->type_name(type)->group(group);
}

void list(CLI::App& get, const char* group, const char* names, std::vector<std::string>& into,
          const char* type, const char* what) {
    as_often_as_wanted(get.add_option(names, into, what))->type_name(type)->group(group);
}

/// In the order in which options of several kinds are given.
void bodies(CLI::App& get, const char* group, const char* name, std::vector<body_text>& into,
            body_text::kind how, const char* what) {
    const auto add = [&into, how](const std::string& text) { into.push_back({how, text}); };
    as_often_as_wanted(get.add_option_function<std::string>(name, add, what))
        ->trigger_on_parse()
        ->type_name("DATA")
        ->group(group);
}

/// Of a field that is sent without being asked for: it is not.
bool leave_out(http::client_options& o, std::string_view name) {
    const http::field_id id = http::find_field_id(name);
    const bool agent = id == http::field_id::user_agent;
    const bool codings = id == http::field_id::accept_encoding;
    if (agent) o.user_agent.clear();
    if (codings) o.accept_compression = false;
    return agent || codings;
}

void flag(CLI::App& get, const char* group, const char* names, bool& into, const char* what) {
    get.add_flag(names, into, what)->group(group);
}

template <class T>
void number(CLI::App& get, const char* group, const char* names, T& into, const char* type, T least,
            T most, const char* what) {
    get.add_option(names, into, what)
        ->type_name(type)
        ->check(CLI::Range(least, most).description(""))
        ->group(group);
}

}  // namespace

get_options::get_options(CLI::App& app)
    : texts_(std::make_unique<texts>()), command_(app.add_subcommand("get", about)) {
    CLI::App& get = *command_;
    texts& t = *texts_;
    get_settings& s = t.settings;
    get.footer(footer);
    get.set_help_flag("-h,--help", "Print this help and exit");
    get.add_option("URL", s.urls, "What is asked for; without a scheme it is http://")
        ->type_name("")
        ->required();

    const char* group = "Request";
    text(get, group, "-X,--request", s.method, "METHOD",
         "The method. Default: GET, POST with a body, HEAD with -I");
    list(get, group, "-H,--header", t.fields, "FIELD",
         "A field, 'Name: value', as often as wanted");
    using kind = body_text::kind;
    bodies(get, group, "-d,--data", s.bodies, kind::data,
           "A body as of a form, or @FILE without its line ends, @- is\n"
           "standard input; several are joined by '&'");
    bodies(get, group, "--data-raw", s.bodies, kind::raw, "The same; an @ means nothing");
    bodies(get, group, "--data-binary", s.bodies, kind::binary, "The same; @FILE is sent as it is");
    bodies(get, group, "--json", s.bodies, kind::json,
           "A body of JSON, or @FILE; JSON is what is wanted back");
    list(get, group, "-F,--form", s.parts, "PART",
         "A part of multipart/form-data: name=value, name=<FILE,\n"
         "name=@FILE, behind them ;type=image/png or ;filename=a.png");
    text(get, group, "-A,--user-agent", s.client.user_agent, "NAME",
         "Who we are. Default: coracle");
    text(get, group, "-e,--referer", t.referer, "URL", "The Referer field");
    text(get, group, "-r,--range", t.range, "RANGE", "Only these bytes: 0-499, 500-, -500");
    flag(get, group, "-I,--head", s.head, "Ask for the head only, and print it");
    flag(get, group, "--compressed", t.compressed,
         "Take gzip, deflate, brotli and zstd. This is the default");
    flag(get, group, "--no-compressed", t.no_compressed, "Do not");

    group = "Authentication and cookies";
    text(get, group, "-u,--user", t.user, "USER:PASSWORD", "Basic, or with --digest Digest");
    flag(get, group, "--digest", t.digest, "The password is never sent itself (RFC 7616)");
    text(get, group, "--bearer,--oauth2-bearer", t.bearer, "TOKEN", "A token (RFC 6750)");
    flag(get, group, "-n,--netrc", s.client.netrc, "User and password from ~/.netrc");
    text(get, group, "-b,--cookie", t.cookies, "FILE",
         "Cookies of a file (cookies.txt), or 'name=value; ...'");
    text(get, group, "-c,--cookie-jar", s.cookie_jar, "FILE",
         "Write the cookies to FILE at the end");

    group = "Connection";
    text(get, group, "-x,--proxy", t.proxy, "URL",
         "http://, https://, socks4://, socks4a://, socks5:// or\n"
         "socks5h://. Default: http_proxy and its like");
    text(get, group, "--proxy-user", t.proxy_user, "USER:PASSWORD", "For the proxy");
    text(get, group, "--noproxy", s.client.no_proxy, "HOSTS",
         "Hosts that are reached without it: localhost,.example.com");
    flag(get, group, "-k,--insecure", s.client.insecure, "Take any certificate");
    text(get, group, "--cacert", s.client.certificates.authorities, "FILE",
         "Trust these authorities (PEM), and not those of the system");
    text(get, group, "-E,--cert", s.client.certificates.certificate, "FILE", "Our certificate");
    text(get, group, "--key", s.client.certificates.key, "FILE", "Its private key");
    list(get, group, "--resolve", s.client.resolve, "HOST:PORT:ADDRESS",
         "Addresses in place of what DNS says");
    text(get, group, "--unix-socket", s.client.unix_socket, "PATH", "Connect to this socket");
    flag(get, group, "-4,--ipv4", t.ipv4, "Only addresses of IPv4");
    flag(get, group, "-6,--ipv6", t.ipv6, "Only addresses of IPv6");
    text(get, group, "--options", t.others, "KEY=VALUE,...",
         "Any option of the client, as docs/options.md has them");

    group = "How it goes on";
    flag(get, group, "-L,--location", t.location, "Follow redirects");
    number(get, group, "--max-redirs", t.redirects, "N", 0U, 1000U, "At most so many. Default: 50");
    number(get, group, "-m,--max-time", t.total, "SECONDS", 0.0, 1e7, "For each URL, in all");
    number(get, group, "--connect-timeout", t.connect, "SECONDS", 0.0, 1e7,
           "For names, TCP, proxy and TLS. Default: 30");
    number(get, group, "--retry", s.client.retry.retries, "N", 0U, 1000U,
           "Try again where that is safe. A file goes on where it broke\n"
           "off. Default: 0");
    number(get, group, "--retry-delay", t.retry_delay, "SECONDS", 0.0, 3600.0,
           "Before the first retry; doubled for each one more. Default:\n0.1");
    text(get, group, "--limit-rate", t.rate, "RATE", "Bytes a second: 500k, 2M");
    flag(get, group, "-Z", t.all_at_once, "Up to 50 URLs at a time");
    number(get, group, "--parallel,--parallel-max", s.parallel, "N", 1U, 1000U,
           "So many URLs at a time. Default: 1");

    group = "Output";
    list(get, group, "-o,--output", s.outputs, "FILE",
         "Where the answer goes, '-' is standard output; the n-th is\n"
         "for the n-th URL");
    flag(get, group, "-O,--remote-name", s.name_from_url,
         "To a file that is named as in the URL. Default for several");
    get.add_option("-C,--continue-at", t.resume_at,
                   "With '-': go on where FILE.part, or else FILE, ends; anew\n"
                   "where the server has other content now")
        ->type_name("-")
        ->check(CLI::IsMember({"-"}).description(""))
        ->group(group);
    flag(get, group, "--continue", t.resume, "The same");
    list(get, group, "--sha256", s.checksums, "HEX",
         "What the content must have; the n-th is for the n-th URL");
    flag(get, group, "-i,--include", s.include_head, "Print the head, too");
    flag(get, group, "-f,--fail", s.fail, "Fail where the status is 400 or above");
    flag(get, group, "-s,--silent", s.silent, "No progress, no errors");
    flag(get, group, "-S,--show-error", s.show_error, "With -s: errors all the same");
    flag(get, group, "--no-progress,--no-progress-meter", s.no_progress,
         "Lines in place of bars, which are only for terminals");
    flag(get, group, "-v,--verbose", s.client.verbose,
         "What is sent ('>') and received ('<'), without its secrets");
    flag(get, group, "--timing", s.timing, "A table of how long each part took");
}

get_options::~get_options() = default;

bool get_options::chosen() const {
    return command_->parsed();
}

get_settings get_options::settings() const {
    const texts& t = *texts_;
    get_settings s = t.settings;
    http::client_options& o = s.client;
    if (!t.others.empty()) read_into(o, "--options", t.others);
    if (!t.rate.empty()) read_into(o, "--limit-rate", "rate_limit=" + t.rate);
    if (command_->count("--max-time") != 0) o.total_timeout = seconds(t.total);
    if (command_->count("--connect-timeout") != 0) o.connect_timeout = seconds(t.connect);
    if (command_->count("--retry-delay") != 0) o.retry.delay = seconds(t.retry_delay);
    if (t.location) o.follow = http::follow::standard;
    if (t.location || command_->count("--max-redirs") != 0) o.redirects = t.redirects;
    if (t.no_compressed) o.accept_compression = false;
    if (command_->count("--proxy") != 0) {
        o.proxy = secret(t.proxy);
        if (o.proxy.empty()) o.proxy_from_environment = false;
    }
    // Who says how often means it: no share of all requests is held back.
    if (o.retry.retries != 0) o.retry.budget_percent = 100 * o.retry.retries;
    if (t.ipv4) o.family = net::family::v4;
    if (t.ipv6) o.family = net::family::v6;
    if (t.all_at_once && command_->count("--parallel") == 0) s.parallel = 50;
    s.resume = t.resume || !t.resume_at.empty();

    const auto scheme = t.digest ? http::auth_scheme::digest : http::auth_scheme::basic;
    if (!t.user.empty()) o.authentication = credentials_of("--user", t.user, scheme);
    if (!t.bearer.empty()) {
        o.authentication = {http::auth_scheme::bearer, {}, secret(std::string(t.bearer))};
    }
    if (!t.proxy_user.empty()) {
        o.proxy_authentication =
            credentials_of("--proxy-user", t.proxy_user, http::auth_scheme::basic);
    }
    if (!t.referer.empty()) s.fields.emplace_back("Referer", t.referer);
    if (!t.range.empty()) s.fields.emplace_back("Range", "bytes=" + t.range);
    for (const std::string& f : t.fields) {
        auto [name, value] = field_of(f);
        const bool none = value.empty() && f.back() != ';';
        if (!none || !leave_out(o, name)) s.fields.emplace_back(std::move(name), std::move(value));
    }
    if (t.cookies.find('=') != std::string::npos) {
        s.fields.emplace_back("Cookie", t.cookies);
    } else {
        s.cookie_file = t.cookies;
    }
    if (!s.cookie_file.empty() || !s.cookie_jar.empty()) o.cookies = true;
    return s;
}

}  // namespace coracle::tool
