#include <coracle/metrics/process.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::metrics {
namespace {

std::string read_all(const char* path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// No number where it cannot be read, for want of descriptors say: then there is no sample, since 0
/// would look well.
using sample = std::optional<double>;

sample number(std::string_view text) noexcept {
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failure == std::errc() ? sample(value) : std::nullopt;
}

/// The field of /proc/self/stat with this number, of which the first after the name of the program
/// is 3 (proc(5)).
sample stat_field(int wanted) {
    const std::string all = read_all("/proc/self/stat");
    // The name may hold blanks and brackets.
    std::size_t at = all.rfind(") ");
    if (at == std::string::npos) return std::nullopt;
    at += 2;
    for (int field = 3; field != wanted; ++field) {
        at = all.find(' ', at);
        if (at == std::string::npos) return std::nullopt;
        ++at;
    }
    return number(std::string_view(all).substr(at));
}

sample cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

sample open_descriptors() {
    std::error_code failure;
    const std::filesystem::directory_iterator all("/proc/self/fd", failure);
    if (failure) return std::nullopt;
    // One is that of the directory.
    return static_cast<double>(std::distance(begin(all), end(all)) - 1);
}

sample most_descriptors() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<double>(limit.rlim_cur);
}

sample resident_bytes() {
    constexpr int rss = 24;
    const sample pages = stat_field(rss);
    if (!pages) return pages;
    return *pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Since 1970, as the kernel counts it: ticks since it was started.
sample start_seconds() {
    constexpr std::string_view key = "\nbtime ";
    constexpr int start_ticks = 22;
    const std::string kernel = read_all("/proc/stat");
    const std::size_t at = kernel.find(key);
    const sample ticks = stat_field(start_ticks);
    if (at == std::string::npos || !ticks) return std::nullopt;
    const sample boot = number(std::string_view(kernel).substr(at + key.size()));
    if (!boot) return boot;
    return *boot + *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void add(registry& to, std::string_view name, std::string_view help, std::function<sample()> read) {
    to.make_reader(name, help, {}, [read = std::move(read)](const registry::series_writer& write) {
        if (const sample now = read()) write({}, *now);
    });
}

}  // namespace

void add_process(registry& to) {
    constexpr int threads = 20;
    constexpr int virtual_bytes = 23;
    add(to, "process_cpu_seconds_total", "User and system time.", cpu_seconds);
    add(to, "process_resident_memory_bytes", "Memory in RAM.", resident_bytes);
    add(to, "process_virtual_memory_bytes", "Address space.",
        [] { return stat_field(virtual_bytes); });
    add(to, "process_open_fds", "Open file descriptors.", open_descriptors);
    add(to, "process_max_fds", "File descriptors that may be open.", most_descriptors);
    add(to, "process_threads", "Threads.", [] { return stat_field(threads); });
    add(to, "process_start_time_seconds", "When it was started, since 1970.",
        // Read once where that is possible: it never changes.
        [start = start_seconds()] { return start ? start : start_seconds(); });
}

}  // namespace coracle::metrics
