#include "bench_report.hpp"
#include "compare.hpp"
#include "live_display.hpp"
#include "output_file.hpp"
#include "progress_display.hpp"
#include "settings.hpp"
#include "standard_output.hpp"
#include "verbose_log.hpp"
#include "writable.hpp"

#include <coracle/net/descriptor_limit.hpp>
#include <coracle/runtime/signals.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace coracle::tool::bench {
namespace {

/// Writes a report whole, or says why it cannot; "-" is standard output.
bool write_report(const std::string& path, const std::string& text) {
    std::FILE* const out = path == "-" ? stdout : std::fopen(path.c_str(), "w");
    bool well = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    if (out == stdout) {
        well = std::fflush(stdout) == 0 && well;
    } else if (out != nullptr) {
        well = std::fclose(out) == 0 && well;
    }
    if (!well) {
        std::fprintf(stderr, "coracle: cannot write the report to '%s': %s\n",
                     printable(path).c_str(), std::generic_category().message(errno).c_str());
    }
    return well;
}

/// Before the run, which may take hours.
void need_reports(const bench_settings& s) {
    if (s.json == "-" && s.html == "-") {
        throw failure("--json and --html cannot both be standard output");
    }
    for (const std::string& path : {s.json, s.html}) {
        if (path.empty() || path == "-") continue;
        const std::error_code why = why_not_written(path);
        if (why) throw unwritable("cannot write the report to '" + path + "': " + why.message());
    }
}

void need_descriptors(const load_plan& plan) {
    constexpr std::uint64_t others = 64;
    const std::uint64_t all = net::raise_descriptor_limit();
    if (all < plan.connections + others) {
        throw failure("this process may have " + std::to_string(all) +
                      " open files (ulimit -n), too few for " + std::to_string(plan.connections) +
                      " connections");
    }
}

int code_of(const bench_report& report) {
    const counts& c = report.total.total;
    if (report.total.interrupted) return bench_interrupted;
    if (c.responses() == 0) return bench_no_response;
    const bool bad = c.failed() != 0 || c.unsent != 0 || c.statuses[3] != 0 || c.statuses[4] != 0;
    return report.settings.fail && bad ? bench_failures : bench_ok;
}

/// `in_text`: also the one that is read at once, in the terminal.
bool write_reports(const bench_report& report, bool in_text) {
    const bench_settings& s = report.settings;
    bool well = true;
    if (in_text) {
        // Standard output is for the one who asked for it.
        std::FILE* const to = s.json == "-" || s.html == "-" ? stderr : stdout;
        const std::string text = text_of(report);
        std::fwrite(text.data(), 1, text.size(), to);
        well = to == stdout ? finish_standard_output() : std::fflush(to) == 0;
    }
    if (!s.json.empty()) well = write_report(s.json, json_of(report)) && well;
    if (!s.html.empty()) well = write_report(s.html, html_of(report)) && well;
    return well;
}

void run_all(bench_report& report, live_display& display, signal_set& signals, logger& log) {
    const bench_settings& s = report.settings;
    for (unsigned i = 0; i != s.runs; ++i) {
        display.begin(s.runs == 1 ? ""
                                  : "run " + std::to_string(i + 1) + " of " +
                                        std::to_string(s.runs) + "  ");
        report.runs.push_back(run_load(s.load, display, signals, log));
        display.clear();
        const run_figures& last = *report.runs.back();
        if (last.interrupted || last.total.responses() == 0) break;
    }
}

}  // namespace

int run_bench(const bench_settings& settings) {
    if (!settings.compare.empty()) return compare_reports(settings);
    need_reports(settings);
    need_descriptors(settings.load);
    progress_display no_bars(false, 0);
    logger log(log_level::warning);
    obey_environment(log);
    log.set_sink(&log_or_print, &no_bars);
    std::signal(SIGPIPE, SIG_IGN);
    // Before threads are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    live_display display(live_display::manner_of_standard_error(settings.silent));
    const std::size_t left_out = settings.load.what.left_out;
    if (left_out != 0) {
        display.say("coracle: " + std::to_string(left_out) +
                    " requests of the HAR go to other servers, and are left out");
    }
    bench_report report(settings);
    run_all(report, display, signals, log);
    report.conclude();
    const int code = code_of(report);
    if (code == bench_no_response) {
        const std::string why =
            report.total.reason.empty() ? "no response came" : report.total.reason;
        std::fprintf(stderr, "coracle: %s: %s\n",
                     printable(settings.load.what.origin.redacted()).c_str(),
                     printable(why).c_str());
    }
    const counts& c = report.total.total;
    const bool has_figures = c.responses() + c.failed() + c.unsent != 0;
    const bool written = write_reports(report, has_figures && !settings.silent);
    return written ? code : static_cast<int>(bench_write_error);
}

}  // namespace coracle::tool::bench
