#include "serve_options.hpp"

#include "cli_options.hpp"
#include "config_file.hpp"
#include "settings.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tool {
namespace {

constexpr const char* serve_about = R"(Serve the files of DIR over HTTP until SIGINT or SIGTERM.

Files have a media type by their extension, an ETag and Last-Modified; conditional requests and
ranges work, and responses are compressed where that helps. A directory is served as its index.html.
Nothing outside of DIR can be reached, and names that begin with a dot are hidden, but for
.well-known. DIR is opened once: where a link leads elsewhere since, it is found again by a restart,
or by SIGHUP with --config. Without DIR, a welcome page shows live figures of the server.
)";

constexpr const char* serve_footer = R"(Signals:
  SIGINT, SIGTERM  stop accepting, finish requests under way (--drain), print a report, exit;
                   a second one closes all connections at once
  SIGHUP           reopen the access log, after it was renamed, reload the certificates, and read
                   the file of --config again; requests under way keep what they began with.
                   Without any of these files it ends the program at once
  SIGUSR1          print every task, and what it waits for, to standard error

systemd: sockets of a socket unit are served in place of --listen, or named there ("inherited" or
"inherited:NAME"); Type=notify and WatchdogSec= work.

Environment:
  CORACLE_LOG      what is logged to standard error: a level (trace, debug, info, warning, error,
                   off) for all, or for layers: info, or warning,http=debug,net=trace. Default:
                   warning
  CORACLE_BACKEND  how to wait for sockets: automatic, uring (io_uring), epoll or poll. Default:
                   automatic; `coracle doctor` shows which one that is
  CORACLE_STALL_LIMIT
                   report tasks that block an event loop for longer than this many
                   milliseconds. Default: 100

Exit codes:
  0  stopped by a signal, after the drain
  1  cannot serve: the reason is on standard error
  2  wrong usage, also in a configuration file

Examples:
  coracle serve
  coracle serve public --listen :8000 --listing
  coracle serve public --listen 127.0.0.1:8080 --listen [::1]:8080 --access-log
  coracle serve dist --spa --cache '/assets/*=max-age=31536000, immutable' --cache '*=no-cache'
  coracle serve public --listen unix:/run/site.sock --log-file access.log --log-format json
  coracle serve public --tls-cert cert.pem --tls-key key.pem --listen https://:443 \
                       --listen http://:80 --redirect-to-https)";

}  // namespace

/// The texts of the options, before they are interpreted.
struct serve_options::texts {
    serve_settings settings;
    std::string config;
    std::string directory;
    std::string access_log;
    std::string log_file;
    std::string log_format = "common";
    std::vector<std::string> cache;
    std::vector<std::string> mime;
    std::string fallback;
    std::vector<std::string> certificates;
    std::vector<std::string> keys;
    std::string password_file;
    bool listing = false;
    bool no_compress = false;
    bool no_precompressed = false;
};

namespace {

using serve_texts = serve_options::texts;

void add_server_options(CLI::App& serve, serve_settings& settings, serve_texts& texts) {
    constexpr const char* group = "Server";
    as_often_as_wanted(
        serve.add_option("--listen", settings.listen,
                         "Where to listen: 127.0.0.1:8080, [::1]:8080, :8080 or 8080\n"
                         "(every IPv4 address), unix:/path; may be repeated. Port 0 is\n"
                         "a free one. Prefix https:// or http:// where only some use\n"
                         "TLS. Default: 127.0.0.1:8080, with a certificate\n"
                         "127.0.0.1:8443"))
        ->type_name("ADDRESS")
        ->group(group);
    serve
        .add_option("--threads", settings.threads,
                    "Event loops, each with a thread. Default: one for each core")
        ->type_name("N")
        ->check(CLI::Range(1U, 1024U).description(""))
        ->group(group);
    serve.add_flag("--pin", settings.pin, "Pin each event loop to a core")->group(group);
    serve
        .add_option("--drain", settings.drain_seconds,
                    "How long requests under way may take after a signal, before\n"
                    "their connections are closed. Default: 30")
        ->type_name("SECONDS")
        ->check(number_between(0.0, 86400.0))
        ->group(group);
    serve
        .add_flag("--dashboard", settings.dashboard,
                  "Show rate, latencies, loops, errors and tasks as a page at\n"
                  "/-/dashboard, to browsers on this machine alone")
        ->group(group);
    not_empty(add_text(serve, group, "--handover", settings.handover, "PATH",
                       "Take over the listening sockets from the coracle that waits\n"
                       "at this Unix path, which then ends, and wait there for the\n"
                       "next one: a restart that loses no request"));
    not_empty(add_text(serve, group, "--config", texts.config, "FILE",
                       "Read a TOML or JSON file whose keys are these options,\n"
                       "without the dashes: listen = [\":8080\"]. Options on the\n"
                       "command line count for more. SIGHUP reads it again"));
    serve
        .add_flag("--check", settings.checks_only,
                  "Check the options, the file of --config and the files that\n"
                  "they name, and exit")
        ->group(group);
}

void add_tls_options(CLI::App& serve, serve_settings& settings, serve_texts& texts) {
    constexpr const char* group = "HTTPS";
    not_empty(add_list(serve, group, "--tls-cert", texts.certificates, "FILE",
                       "Serve HTTPS with the certificate, followed by its chain, of\n"
                       "a file: PEM, DER or PKCS#12. May be repeated, for several\n"
                       "hosts. Reloaded when it changes"));
    not_empty(add_list(serve, group, "--tls-key", texts.keys, "FILE",
                       "The private key; the n-th is for the n-th --tls-cert.\n"
                       "Default: it is in the file of the certificate"));
    not_empty(add_text(serve, group, "--tls-password-file", texts.password_file, "FILE",
                       "A file whose first line is the password of the keys"));
    serve
        .add_flag("--tls-self-signed", settings.self_signed,
                  "Serve HTTPS with a certificate made on the spot, to try it\n"
                  "out: browsers warn of it")
        ->group(group);
    not_empty(add_text(serve, group, "--tls-client-ca", settings.client_authorities, "FILE",
                       "Refuse clients without a certificate that is signed by one\n"
                       "of the authorities in FILE (PEM)"));
    serve
        .add_flag("--redirect-to-https", settings.https_only,
                  "Redirect plain HTTP to HTTPS, and have browsers use HTTPS\n"
                  "at once the next time (HSTS)")
        ->group(group);
}

void add_file_options(CLI::App& serve, serve_settings& settings, serve_texts& texts) {
    constexpr const char* group = "Files";
    serve
        .add_flag("--listing", texts.listing,
                  "List directories that have no index.html, as a page, or as\n"
                  "JSON where Accept prefers it. Default: 404")
        ->group(group);
    serve
        .add_flag("--spa{index.html}", texts.fallback,
                  "Serve index.html, or FILE, in place of pages that do not\n"
                  "exist, for an application that routes in the browser: only\n"
                  "where Accept has text/html and the name has no dot.\n"
                  "Default: 404")
        ->group(group);
    as_often_as_wanted(
        serve.add_option("--cache", texts.cache,
                         "Cache-Control of the paths that match; may be repeated, the\n"
                         "first match counts. '*' stands for anything; without a\n"
                         "slash the name has to match, in any directory:\n"
                         "'*.css=max-age=3600'. Default: none"))
        ->type_name("GLOB=VALUE")
        ->group(group);
    as_often_as_wanted(serve.add_option("--mime", texts.mime,
                                        "The media type of an extension: gpx=application/gpx+xml;\n"
                                        "may be repeated. Default: a table of 320"))
        ->type_name("EXT=TYPE")
        ->group(group);
    serve
        .add_flag("--hidden", settings.files.hidden,
                  "Serve names that begin with a dot, too. Default: 404")
        ->group(group);
    serve
        .add_flag("--no-precompressed", texts.no_precompressed,
                  "Do not look for NAME.br, NAME.zst and NAME.gz beside NAME.\n"
                  "Default: one that is not older is sent where Accept-Encoding\n"
                  "allows it")
        ->group(group);
    serve
        .add_flag("--no-compress", texts.no_compress,
                  "Do not compress. Default: text and the like, of 1 KiB to\n"
                  "4 MiB, once, kept in 32 MiB of memory")
        ->group(group);
}

void add_log_options(CLI::App& serve, serve_texts& texts) {
    constexpr const char* group = "Access log";
    serve
        .add_flag("--access-log{-}", texts.access_log,
                  "Write a line for each response to standard output, and all\n"
                  "else to standard error, or append it to FILE. Default: no log")
        ->group(group);
    not_empty(add_text(serve, group, "--log-file", texts.log_file, "FILE",
                       "Append it to FILE, which SIGHUP reopens"));
    serve
        .add_option("--log-format", texts.log_format,
                    "common, combined (with Referer and User-Agent) or json.\n"
                    "Alone it logs to standard output. Default: common")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"common", "combined", "json"}).description(""))
        ->group(group);
}

// Applies the options to the settings.
void apply(const CLI::App& serve, const serve_texts& texts, serve_settings& settings) {
    if (serve.count("DIR") != 0) settings.directory = texts.directory;
    if (!texts.access_log.empty() && texts.access_log != "-" && !texts.log_file.empty()) {
        throw wrong_usage("--access-log and --log-file both name a file: give one of them");
    }
    if (serve.count("--access-log") != 0) settings.access_log = texts.access_log;
    if (serve.count("--log-file") != 0) settings.access_log = texts.log_file;
    if (serve.count("--log-format") != 0 && !settings.access_log) settings.access_log.emplace();
    settings.log_format = *http::parse_access_log_format(texts.log_format);
    settings.files.listing = texts.listing;
    settings.files.compress = !texts.no_compress;
    settings.files.precompressed = !texts.no_precompressed;
    settings.files.fallback = texts.fallback;
    settings.certificates = certificates_of(texts.certificates, texts.keys, texts.password_file);
    for (const std::string& rule : texts.cache) {
        settings.files.cache.push_back(parse_cache_rule(rule));
    }
    for (const std::string& rule : texts.mime) {
        settings.files.media_types.push_back(parse_media_type_rule(rule));
    }
    for (const char* of_files : {"--listing", "--spa", "--cache", "--mime", "--hidden"}) {
        if (serve.count(of_files) == 0 || settings.directory) continue;
        throw wrong_usage(std::string(of_files) +
                          " needs a DIR whose files are served, such as '.'");
    }
}

void add_all_options(CLI::App& serve, serve_texts& texts) {
    serve.footer(serve_footer);
    serve.set_help_flag("-h,--help", "Print this help and exit");
    not_empty(serve.add_option("DIR", texts.directory, "The directory whose files are served")
                  ->type_name(""));
    add_file_options(serve, texts.settings, texts);
    add_server_options(serve, texts.settings, texts);
    add_tls_options(serve, texts.settings, texts);
    add_log_options(serve, texts);
}

// ---- the file of --config -----------------------------------------------------------------------

/// The key of an option: its name without dashes, and "directory" for DIR.
std::string key_of(const CLI::Option& o) {
    const std::string name = o.get_name();
    if (name == "DIR") return "directory";
    return name.starts_with("--") ? name.substr(2) : name;
}

bool is_in_files(const std::string& key) {
    return key != "help" && key != "config" && key != "check";
}

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j != row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

[[noreturn]] void refuse(const std::string& file, const config_entry& e, const std::string& why) {
    throw wrong_usage(file + ":" + std::to_string(e.line) + ": " + e.key + ": " + why);
}

CLI::Option& option_of(CLI::App& serve, const std::string& file, const config_entry& e) {
    std::string nearest;
    std::size_t least = 4;
    std::string wanted = e.key;
    std::ranges::replace(wanted, '_', '-');
    for (CLI::Option* o : serve.get_options()) {
        const std::string key = key_of(*o);
        if (!is_in_files(key)) continue;
        if (key == wanted) return *o;
        const std::size_t d = distance(key, wanted);
        if (d < least) {
            least = d;
            nearest = key;
        }
    }
    refuse(file, e,
           nearest.empty() ? "there is no such key (coracle serve --help has them)"
                           : "there is no such key; did you mean '" + nearest + "'?");
}

/// Gives one entry to its option, unless the command line has it.
void put(CLI::Option& o, const std::string& file, const config_entry& e) {
    const bool is_flag = o.get_items_expected_max() == 0;
    const bool takes_several = o.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (e.kind == config_kind::other) {
        refuse(file, e, "takes a string, a number, true or false, or an array of these");
    }
    if (e.values.size() > 1 && !takes_several) refuse(file, e, "takes one value");
    if (is_flag && e.kind == config_kind::number) refuse(file, e, "takes true or false");
    if (!is_flag && e.kind == config_kind::boolean) refuse(file, e, "takes a value, not a boolean");
    if (is_flag && e.values.size() == 1 && e.values.front() == "false") return;
    try {
        for (const std::string& value : e.values) {
            const bool is_set = is_flag && value == "true";
            o.add_result(is_set ? o.get_flag_value(key_of(o), "") : value);
        }
        if (!e.values.empty()) o.run_callback();
    } catch (const CLI::ParseError& why) {
        std::string text = why.what();
        text = text.substr(0, text.find('\n'));
        const std::string prefix = o.get_name() + ": ";
        refuse(file, e, text.starts_with(prefix) ? text.substr(prefix.size()) : text);
    }
}

/// Keys of the file that count for nothing where the command line has this option: both say where
/// the log goes, or the key belongs to the certificate of the file, and so only beside one.
struct replaced_key {
    const char* key;
    const char* option;
    const char* only_beside;
};
constexpr replaced_key replaced_keys[] = {
    {"log-file", "--access-log", "log-file"},
    {"access-log", "--log-file", "access-log"},
    {"tls-key", "--tls-cert", "tls-cert"},
    {"tls-password-file", "--tls-cert", "tls-cert"},
};

/// The keys that the entries of a file have, and that the command line has replaced.
std::vector<std::string> replaced_by(const CLI::App& serve, const std::vector<std::string>& keys) {
    std::vector<std::string> replaced;
    for (const replaced_key& r : replaced_keys) {
        const bool is_beside = std::ranges::find(keys, r.only_beside) != keys.end();
        if (is_beside && serve.count(r.option) != 0) replaced.emplace_back(r.key);
    }
    return replaced;
}

void read_config(CLI::App& serve, const std::string& file) {
    const std::vector<config_entry> entries = read_config_file(file);
    std::vector<CLI::Option*> options;
    std::vector<std::string> keys;
    for (const config_entry& e : entries) {
        options.push_back(&option_of(serve, file, e));
        keys.push_back(key_of(*options.back()));
    }
    const std::vector<std::string> replaced = replaced_by(serve, keys);
    for (std::size_t i = 0; i != entries.size(); ++i) {
        const bool counts = std::ranges::find(replaced, keys[i]) == replaced.end();
        if (counts && options[i]->count() == 0) put(*options[i], file, entries[i]);
    }
}

}  // namespace

serve_options::serve_options(CLI::App& app, int argc, char** argv)
    : app_(app.add_subcommand("serve", serve_about)), texts_(std::make_unique<texts>()),
      argc_(argc), argv_(argv) {
    add_all_options(*app_, *texts_);
}

serve_options::~serve_options() = default;

serve_settings serve_options::settings() const {
    const bool has_file = !texts_->config.empty();
    if (has_file) read_config(*app_, texts_->config);
    serve_settings s = texts_->settings;
    apply(*app_, *texts_, s);
    if (has_file) {
        s.again = [argc = argc_, argv = argv_] {
            CLI::App app;
            const serve_options same(app, argc, argv);
            let_the_last_count(app);
            app.parse(argc, argv);
            return same.settings();
        };
    }
    return s;
}

}  // namespace coracle::tool
