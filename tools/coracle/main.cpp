#include "cli_options.hpp"
#include "doctor_command.hpp"
#include "get_options.hpp"
#include "serve_command.hpp"
#include "settings.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr const char* about =
    R"(coracle: an HTTP server for the files of a directory, and an HTTP client.

  coracle serve              the welcome page on http://127.0.0.1:8080
  coracle serve public       the files of the directory public
  coracle serve --tls-self-signed   the same over HTTPS, for a try
  coracle get URL...         the answers to requests, as curl would give them
  coracle doctor             what this machine can do, and what to change
)";

constexpr const char* footer =
    "`coracle serve --help` and `coracle get --help` say what can be chosen.";

constexpr const char* serve_about = R"(Serve the files of DIR over HTTP until SIGINT or SIGTERM.

Files have media types by their extension, ETag and Last-Modified, conditional requests and ranges,
and go out compressed where that helps; a directory answers with its index.html. Nothing outside of
DIR can be reached, and names that begin with a dot are hidden. Without DIR, a welcome page shows
live figures of the server.
)";

constexpr const char* serve_footer = R"(Signals:
  SIGINT, SIGTERM  stop accepting, finish what is under way (--drain), print a report;
                   a second one cuts
  SIGHUP           open the file of the access log again, after it was renamed, and read
                   the certificates again
  SIGUSR1          print every live task, and what it waits for, to standard error

Environment:
  CORACLE_LOG      what is logged to standard error: a level (trace, debug, info, warning, error,
                   off) for all, or for layers: info, or warning,http=debug,net=trace. Default:
                   warning
  CORACLE_BACKEND  how to wait for the system: automatic, uring, epoll or poll. Default:
                   automatic; `coracle doctor` says which that is
  CORACLE_STALL_LIMIT
                   report whoever holds a loop for longer than so many milliseconds

Examples:
  coracle serve
  coracle serve public --listen :8000 --listing
  coracle serve public --listen 127.0.0.1:8080 --listen [::1]:8080 --access-log
  coracle serve dist --spa --cache '/assets/*=max-age=31536000, immutable' --cache '*=no-cache'
  coracle serve public --listen unix:/run/site.sock --log-file access.log --log-format json
  coracle serve public --tls-cert cert.pem --tls-key key.pem --listen https://:443 \
                       --listen http://:80 --redirect-to-https)";

constexpr const char* doctor_about = R"(Say what this machine can do for a server.

Prints the kernel, which backends work and which is chosen, the features of the kernel that it uses,
and the limits of the system, with what to change where one is low.
)";

// Lists a command by the first line of its description.
class formatter : public CLI::Formatter {
public:
    std::string make_subcommand(const CLI::App* command) const override {
        const std::string text = command->get_description();
        std::ostringstream out;
        CLI::detail::format_help(out, command->get_name(), text.substr(0, text.find('\n')),
                                 get_column_width());
        return out.str();
    }

    // "--name" with "[=VALUE]" in place of what it means without a value.
    std::string make_option_name(const CLI::Option* o, bool positional) const override {
        const std::string name = CLI::Formatter::make_option_name(o, positional);
        const std::size_t brace = name.find('{');
        return brace == std::string::npos ? name : name.substr(0, brace) + "[=FILE]";
    }
};

/// What the options of `serve` are read into before they are understood.
struct serve_texts {
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

using coracle::tool::as_often_as_wanted;

void add_server_options(CLI::App& serve, coracle::tool::serve_settings& settings) {
    constexpr const char* group = "Server";
    as_often_as_wanted(serve.add_option("--listen", settings.listen,
                                        "Where to listen, as often as wanted: 127.0.0.1:8080,\n"
                                        "[::1]:8080, :8080 (every IPv4 address), unix:/path;\n"
                                        "port 0 takes a free one; https:// or http:// in front\n"
                                        "where only some are to be encrypted. Default:\n"
                                        "127.0.0.1:8080, with a certificate 127.0.0.1:8443"))
        ->type_name("ADDRESS")
        ->group(group);
    serve.add_option("--threads", settings.threads, "Event loops. Default: one for each core")
        ->type_name("N")
        ->check(CLI::Range(1U, 1024U).description(""))
        ->group(group);
    serve.add_flag("--pin", settings.pin, "Pin each event loop to a core. Default: not pinned")
        ->group(group);
    serve
        .add_option("--drain", settings.drain_seconds,
                    "How long requests under way may take after a signal,\n"
                    "before they are cut. Default: 30")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 86400.0).description(""))
        ->group(group);
}

void add_tls_options(CLI::App& serve, coracle::tool::serve_settings& settings, serve_texts& texts) {
    constexpr const char* group = "HTTPS";
    as_often_as_wanted(serve.add_option("--tls-cert", texts.certificates,
                                        "Speak HTTPS with the certificate, and behind it its\n"
                                        "chain, of a file: PEM, DER or PKCS#12. As often as\n"
                                        "wanted, for several hosts. Read again when it changes"))
        ->type_name("FILE")
        ->group(group);
    as_often_as_wanted(serve.add_option("--tls-key", texts.keys,
                                        "The private key of the certificate at the same place.\n"
                                        "Default: it is in the file of the certificate"))
        ->type_name("FILE")
        ->group(group);
    serve
        .add_option("--tls-password-file", texts.password_file,
                    "A file whose first line is the password of the keys")
        ->type_name("FILE")
        ->group(group);
    serve
        .add_flag("--tls-self-signed", settings.self_signed,
                  "Speak HTTPS with a certificate made on the spot, which\n"
                  "browsers warn of: for a try")
        ->group(group);
    serve
        .add_option("--tls-client-ca", settings.client_authorities,
                    "Refuse clients without a certificate that one of this\n"
                    "file (PEM) vouches for")
        ->type_name("FILE")
        ->group(group);
    serve
        .add_flag("--redirect-to-https", settings.https_only,
                  "Send who comes over plain HTTP to HTTPS, and tell\n"
                  "browsers to come there at once next time (HSTS)")
        ->group(group);
}

void add_file_options(CLI::App& serve, coracle::tool::serve_settings& settings,
                      serve_texts& texts) {
    constexpr const char* group = "Files";
    serve
        .add_flag("--listing", texts.listing,
                  "List directories that have no index.html: as a page, or\n"
                  "as JSON to who prefers it. Default: they are not found")
        ->group(group);
    serve
        .add_flag("--spa{index.html}", texts.fallback,
                  "Answer pages that do not exist with index.html, or with\n"
                  "--spa=FILE, for an application that routes in the\n"
                  "browser: only where text/html is asked for and the name\n"
                  "has no dot. Default: 404")
        ->group(group);
    as_often_as_wanted(serve.add_option("--cache", texts.cache,
                                        "Cache-Control of the paths that match, as often as\n"
                                        "wanted; the first that matches is taken. '*' stands\n"
                                        "for anything; without a slash it is the name that\n"
                                        "must match: '*.css=max-age=3600'. Default: none"))
        ->type_name("GLOB=VALUE")
        ->group(group);
    as_often_as_wanted(serve.add_option("--mime", texts.mime,
                                        "The media type of an extension, as often as wanted:\n"
                                        "gpx=application/gpx+xml. Default: a table of 320"))
        ->type_name("EXT=TYPE")
        ->group(group);
    serve
        .add_flag("--hidden", settings.files.hidden,
                  "Serve names that begin with a dot, too. Default: they are\nnot found")
        ->group(group);
    serve
        .add_flag("--no-precompressed", texts.no_precompressed,
                  "Do not look for name.br, name.zst and name.gz beside\n"
                  "name. Default: one that is not older is sent to who\n"
                  "accepts it")
        ->group(group);
    serve
        .add_flag("--no-compress", texts.no_compress,
                  "Do not compress what compresses. Default: text and the\n"
                  "like, 1 KiB to 4 MiB, once, kept in 32 MiB of memory")
        ->group(group);
}

void add_log_options(CLI::App& serve, serve_texts& texts) {
    constexpr const char* group = "Access log";
    serve
        .add_flag("--access-log{-}", texts.access_log,
                  "A line for each answer to standard output, or appended\n"
                  "to a file by --access-log=FILE. Default: no log")
        ->group(group);
    serve.add_option("--log-file", texts.log_file, "The same to FILE, which SIGHUP opens again")
        ->type_name("FILE")
        ->group(group);
    serve
        .add_option("--log-format", texts.log_format,
                    "common, combined (with Referer and User-Agent) or json.\n"
                    "Default: common")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"common", "combined", "json"}).description(""))
        ->group(group);
}

// What was given, understood.
void apply(const CLI::App& serve, const serve_texts& texts,
           coracle::tool::serve_settings& settings) {
    if (serve.count("DIR") != 0) settings.directory = texts.directory;
    if (serve.count("--access-log") != 0) settings.access_log = texts.access_log;
    if (serve.count("--log-file") != 0) settings.access_log = texts.log_file;
    if (serve.count("--log-format") != 0 && !settings.access_log) settings.access_log.emplace();
    settings.log_format = *coracle::http::parse_access_log_format(texts.log_format);
    settings.files.listing = texts.listing;
    settings.files.compress = !texts.no_compress;
    settings.files.precompressed = !texts.no_precompressed;
    settings.files.fallback = texts.fallback;
    settings.certificates =
        coracle::tool::certificates_of(texts.certificates, texts.keys, texts.password_file);
    for (const std::string& rule : texts.cache) {
        settings.files.cache.push_back(coracle::tool::parse_cache_rule(rule));
    }
    for (const std::string& rule : texts.mime) {
        settings.files.media_types.push_back(coracle::tool::parse_media_type_rule(rule));
    }
}

// What cannot be asked for is wrong usage, as what cannot be parsed is.
int run_get(const coracle::tool::get_options& get) {
    try {
        return coracle::tool::get(get.settings());
    } catch (const coracle::tool::failure& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        return coracle::tool::get_usage;
    }
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(about, "coracle");
    app.footer(footer);
    app.set_version_flag("--version", std::string("coracle ") + coracle::version(),
                         "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.formatter(std::make_shared<formatter>());
    app.require_subcommand(1);

    coracle::tool::serve_settings settings;
    serve_texts texts;
    CLI::App& serve = *app.add_subcommand("serve", serve_about);
    serve.footer(serve_footer);
    serve.set_help_flag("-h,--help", "Print this help and exit");
    serve.add_option("DIR", texts.directory, "The directory whose files are served")->type_name("");
    add_file_options(serve, settings, texts);
    add_server_options(serve, settings);
    add_tls_options(serve, settings, texts);
    add_log_options(serve, texts);

    const coracle::tool::get_options get(app);

    CLI::App& doctor = *app.add_subcommand("doctor", doctor_about);
    doctor.set_help_flag("-h,--help", "Print this help and exit");

    if (argc < 2) {
        std::fputs(app.help().c_str(), stderr);
        return 2;
    }
    const auto is_meant = [&](const CLI::App* command) { return command->check_name(argv[1]); };
    if (argv[1][0] != '-' && app.get_subcommands(is_meant).empty()) {
        std::fprintf(stderr, "coracle: there is no '%s': there are serve, get and doctor\n",
                     argv[1]);
        return 2;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    try {
        if (get.chosen()) return run_get(get);
        apply(serve, texts, settings);
        if (doctor.parsed())
            coracle::tool::doctor();
        else
            coracle::tool::serve(settings);
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        return 1;
    }
}
