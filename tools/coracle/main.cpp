#include "doctor_command.hpp"
#include "serve_command.hpp"
#include "settings.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

namespace {

constexpr const char* about = R"(coracle: an HTTP server for the files of a directory.

  coracle serve              the welcome page on http://127.0.0.1:8080
  coracle serve public       the files of the directory public
  coracle doctor             what this machine can do, and what to change
)";

constexpr const char* footer = "`coracle serve --help` says what can be chosen.";

constexpr const char* serve_about = R"(Serve the files of DIR over HTTP until SIGINT or SIGTERM.

Files have media types by their extension, ETag and Last-Modified, conditional requests and ranges;
a directory answers with its index.html. Nothing outside of DIR can be reached, and names that begin
with a dot are hidden. Without DIR, a welcome page shows live figures of the server.
)";

constexpr const char* serve_footer = R"(Signals:
  SIGINT, SIGTERM  stop accepting, finish what is under way (--drain), print a report;
                   a second one cuts
  SIGUSR1          print every live task, and what it waits for, to standard error

Environment:
  CORACLE_LOG      what is logged to standard error: a level (trace, debug, info, warning, error,
                   off) for all, or for layers: info, or warning,http=debug,net=trace. Default:
                   warning
  CORACLE_BACKEND  how to wait for the system: automatic, uring, epoll or poll. Default:
                   automatic; `coracle doctor` says which that is

Examples:
  coracle serve
  coracle serve public --listen :8000
  coracle serve public --listen 127.0.0.1:8080 --listen [::1]:8080 --access-log
  coracle serve public --listen unix:/run/site.sock --access-log=access.log --threads 2 --pin)";

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
};

void add_serve_options(CLI::App& serve, coracle::tool::serve_settings& settings,
                       std::string& directory, std::string& access_log) {
    serve.add_option("DIR", directory, "The directory whose files are served")->type_name("");
    serve
        .add_option("--listen", settings.listen,
                    "Where to listen, as often as wanted: 127.0.0.1:8080,\n"
                    "[::1]:8080, :8080 (every IPv4 address), unix:/path;\n"
                    "port 0 takes a free one. Default: 127.0.0.1:8080")
        ->type_name("ADDRESS")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    serve.add_option("--threads", settings.threads, "Event loops. Default: one for each core")
        ->type_name("N")
        ->check(CLI::Range(1U, 1024U).description(""));
    serve.add_flag("--pin", settings.pin, "Pin each event loop to a core. Default: not pinned");
    serve
        .add_option("--access-log", access_log,
                    "A line for each answer, in the common log format, to\n"
                    "standard output, or appended to a file by\n"
                    "--access-log=FILE. Default: no log")
        ->type_name("[FILE]")
        ->expected(0, 1);
    serve
        .add_option("--drain", settings.drain_seconds,
                    "How long requests under way may take after a signal,\n"
                    "before they are cut. Default: 30")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.0, 86400.0).description(""));
    serve.add_flag("--hidden", settings.hidden,
                   "Serve names that begin with a dot, too. Default: they are\nnot found");
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
    std::string directory;
    std::string access_log;
    CLI::App& serve = *app.add_subcommand("serve", serve_about);
    serve.footer(serve_footer);
    serve.set_help_flag("-h,--help", "Print this help and exit");
    add_serve_options(serve, settings, directory, access_log);

    CLI::App& doctor = *app.add_subcommand("doctor", doctor_about);
    doctor.set_help_flag("-h,--help", "Print this help and exit");

    if (argc < 2) {
        std::fputs(app.help().c_str(), stderr);
        return 2;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    if (serve.count("DIR") != 0) settings.directory = directory;
    if (serve.count("--access-log") != 0) settings.access_log = access_log;
    try {
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
