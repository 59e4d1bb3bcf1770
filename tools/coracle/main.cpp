#include "bench/bench_options.hpp"
#include "cli_options.hpp"
#include "doctor_command.hpp"
#include "get_options.hpp"
#include "program_arguments.hpp"
#include "reference_options.hpp"
#include "send_options.hpp"
#include "serve_command.hpp"
#include "serve_options.hpp"
#include "settings.hpp"
#include "sink_options.hpp"
#include "standard_output.hpp"
#include "ws_options.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/version.hpp>

#include <CLI/CLI.hpp>
#include <fcntl.h>

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

namespace {

constexpr const char* about =
    R"(coracle: an HTTP server for the files of a directory, and clients of HTTP, WebSocket and SMTP.

  coracle serve                   a welcome page on http://127.0.0.1:8080
  coracle serve public            the files of the directory public
  coracle serve --tls-self-signed the welcome page over HTTPS, to try it out
  coracle get URL...              request URLs, with the options of curl
  coracle ws URL                  send lines to a WebSocket, and print its messages
  coracle ws --listen             a WebSocket that echoes
  coracle bench URL               load a server, and measure how it responds
  coracle smtp send URL           send a mail
  coracle smtp sink               catch the mails of tests, and show them on http://127.0.0.1:8025
  coracle completion SHELL        print the completion for bash, zsh or fish
  coracle doctor                  check this machine: backends, kernel features, limits
)";

constexpr const char* footer = "`coracle serve --help` lists the options of serve, and so on.";

constexpr const char* smtp_footer =
    "`coracle smtp send --help` and `coracle smtp sink --help` list their options.";

constexpr const char* smtp_about = R"(Send a mail, or catch the mails of tests and show them.
)";

constexpr const char* doctor_about = R"(Show what this machine supports, and what to change.

Prints the kernel, which backends (io_uring, epoll, poll) work and which one is chosen, the features
of the kernel that it uses, and the limits of the system, with what to change where one is low.
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

/// Returns the exit code of a command that does nothing but print.
int end_of_output() {
    return coracle::tool::finish_standard_output() ? 0 : 1;
}

// Help is no error; of one the first line says what is wrong.
int explain_usage(const CLI::App& app, const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {
        app.exit(e);
        return end_of_output();
    }
    std::string command;
    for (auto chosen = app.get_subcommands(); !chosen.empty();
         chosen = chosen.front()->get_subcommands()) {
        command += ' ' + chosen.front()->get_name();
    }
    const std::string text = e.what();
    std::fprintf(stderr, "coracle%s: %s (see coracle%s --help)\n", command.c_str(),
                 text.substr(0, text.find('\n')).c_str(), command.c_str());
    return 2;
}

// Settings that no request can have are wrong usage, as is what cannot be parsed.
int run_get(const coracle::tool::get_options& get) {
    try {
        return coracle::tool::get(get.settings());
    } catch (const coracle::tool::failure& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        if (dynamic_cast<const coracle::tool::malformed_url*>(&e) != nullptr) {
            return coracle::tool::get_malformed_url;
        }
        const bool of_file = dynamic_cast<const coracle::tool::unreadable*>(&e) != nullptr;
        return of_file ? coracle::tool::get_read_error : coracle::tool::get_usage;
    }
}

int run_send(const coracle::tool::send_options& send) {
    try {
        return coracle::tool::send_mail(send.settings());
    } catch (const coracle::tool::failure& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        const bool of_file = dynamic_cast<const coracle::tool::unreadable*>(&e) != nullptr;
        return of_file ? coracle::tool::send_read_error : coracle::tool::send_usage;
    }
}

int run_bench(const coracle::tool::bench::bench_options& bench) {
    namespace tool = coracle::tool;
    try {
        return tool::bench::run_bench(bench.settings());
    } catch (const tool::failure& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        if (dynamic_cast<const tool::malformed_url*>(&e) != nullptr) {
            return tool::bench::bench_malformed_url;
        }
        if (dynamic_cast<const tool::unwritable*>(&e) != nullptr) {
            return tool::bench::bench_write_error;
        }
        const bool of_file = dynamic_cast<const tool::unreadable*>(&e) != nullptr;
        return of_file ? tool::bench::bench_read_error : tool::bench::bench_usage;
    }
}

int run_ws(const coracle::tool::ws_options& ws) {
    try {
        return coracle::tool::ws(ws.settings());
    } catch (const coracle::tool::failure& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        const bool of_file = dynamic_cast<const coracle::tool::unreadable*>(&e) != nullptr;
        return of_file ? coracle::tool::ws_read_error : coracle::tool::ws_usage;
    }
}

// If the program was started without one of its three descriptors, the next one to be opened would
// take its number: a socket would be standard output. So each is opened, in the direction in which
// using it fails.
void occupy_standard_descriptors() {
    constexpr int wrong_direction[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd != 3; ++fd) {
        if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", wrong_direction[fd]);
    }
}

}  // namespace

int main(int argc, char** argv) {
    occupy_standard_descriptors();
    coracle::tool::note_arguments(argc, argv);
    CLI::App app(about, "coracle");
    app.footer(footer);
    app.set_version_flag("--version", std::string("coracle ") + coracle::version(),
                         "Print the version and exit");
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.formatter(std::make_shared<formatter>());
    app.require_subcommand(1);

    const coracle::tool::serve_options serve(app, argc, argv);
    const coracle::tool::get_options get(app);
    const coracle::tool::ws_options ws(app);
    const coracle::tool::bench::bench_options bench(app);

    CLI::App& smtp = *app.add_subcommand("smtp", smtp_about);
    smtp.set_help_flag("-h,--help", "Print this help and exit");
    smtp.require_subcommand(1);
    smtp.footer(smtp_footer);
    const coracle::tool::send_options send(smtp);
    const coracle::tool::sink_options sink(smtp);

    CLI::App& doctor = *app.add_subcommand("doctor", doctor_about);
    doctor.set_help_flag("-h,--help", "Print this help and exit");
    doctor.footer("");

    const coracle::tool::reference_options reference(app);
    coracle::tool::let_the_last_count(app);

    if (argc < 2) {
        std::fputs(app.help().c_str(), stderr);
        return 2;
    }
    const auto is_meant = [&](const CLI::App* command) { return command->check_name(argv[1]); };
    if (argv[1][0] != '-' && app.get_subcommands(is_meant).empty()) {
        std::fprintf(stderr,
                     "coracle: there is no '%s': there are serve, get, ws, bench, smtp, doctor and "
                     "completion\n",
                     argv[1]);
        return 2;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return explain_usage(app, e);
    }
    try {
        if (reference.chosen()) {
            const int code = reference.run();
            return code != 0 ? code : end_of_output();
        }
        if (get.chosen()) return run_get(get);
        if (ws.chosen()) return run_ws(ws);
        if (bench.chosen()) return run_bench(bench);
        if (send.chosen()) return run_send(send);
        if (sink.chosen()) {
            coracle::tool::sink_mail(sink.settings());
            return 0;
        }
        if (doctor.parsed()) {
            coracle::tool::doctor();
            return end_of_output();
        }
        coracle::tool::serve(serve.settings());
        return 0;
    } catch (const coracle::tool::wrong_usage& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "coracle: %s\n", e.what());
        return 1;
    }
}
