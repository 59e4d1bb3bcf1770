#include <coracle/metrics/process.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace coracle::metrics {
namespace {

std::string read_all(const char* path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

double number(std::string_view text) noexcept {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// The field of /proc/self/stat with this number, of which the first after the name of the program
/// is 3 (proc(5)).
double stat_field(int wanted) {
    const std::string all = read_all("/proc/self/stat");
    // The name may hold blanks and brackets.
    std::size_t at = all.rfind(") ");
    if (at == std::string::npos) return 0;
    at += 2;
    for (int field = 3; field != wanted; ++field) {
        at = all.find(' ', at);
        if (at == std::string::npos) return 0;
        ++at;
    }
    return number(std::string_view(all).substr(at));
}

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

double open_descriptors() {
    std::error_code failure;
    const std::filesystem::directory_iterator all("/proc/self/fd", failure);
    if (failure) return 0;
    // One is that of the directory.
    return static_cast<double>(std::distance(begin(all), end(all)) - 1);
}

double most_descriptors() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return static_cast<double>(limit.rlim_cur);
}

double resident_bytes() {
    constexpr int rss = 24;
    return stat_field(rss) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Since 1970, as the kernel counts it: ticks since it was started.
double start_seconds() {
    constexpr std::string_view key = "\nbtime ";
    constexpr int start_ticks = 22;
    const std::string kernel = read_all("/proc/stat");
    const std::size_t at = kernel.find(key);
    if (at == std::string::npos) return 0;
    return number(std::string_view(kernel).substr(at + key.size())) +
           stat_field(start_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

void add_process(registry& to) {
    constexpr int threads = 20;
    constexpr int virtual_bytes = 23;
    to.make_reader("process_cpu_seconds_total", "User and system time.", cpu_seconds);
    to.make_reader("process_resident_memory_bytes", "Memory in RAM.", resident_bytes);
    to.make_reader("process_virtual_memory_bytes", "Address space.",
                   [] { return stat_field(virtual_bytes); });
    to.make_reader("process_open_fds", "Open file descriptors.", open_descriptors);
    to.make_reader("process_max_fds", "File descriptors that may be open.", most_descriptors);
    to.make_reader("process_threads", "Threads.", [] { return stat_field(threads); });
    to.make_reader("process_start_time_seconds", "When it was started, since 1970.",
                   [start = start_seconds()] { return start; });
}

}  // namespace coracle::metrics
