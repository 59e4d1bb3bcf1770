#pragma once

// The line that every client here ends with, so that they can be compared by hand too.

#include <sys/resource.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace bench {

// The command line of a client: URL COUNT CONCURRENCY.
struct calls_wanted {
    const char* url = nullptr;
    std::size_t count = 0;
    std::size_t concurrency = 0;
};

// Ends the program where they are not there; `more` names arguments that may follow.
inline calls_wanted read_calls_wanted(int argc, char** argv, const char* more = "") {
    calls_wanted wanted;
    if (argc >= 4) {
        wanted = {argv[1], std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10)};
    }
    if (wanted.count == 0 || wanted.concurrency == 0) {
        std::fprintf(stderr, "usage: %s URL COUNT CONCURRENCY%s\n", argv[0], more);
        std::exit(2);
    }
    return wanted;
}

// Connections that calls which are all started at once may use together: what a pool allows.
inline constexpr std::size_t pool_connections = 100;

// Returns a figure of this process, in KiB: VmRSS (resident now), VmHWM (the most that was),
// RssAnon. That of getrusage(2) would count the memory of the program that executed this one, where
// it was larger.
inline long memory_kib(std::string_view field) {
    std::FILE* const status = std::fopen("/proc/self/status", "r");
    if (status == nullptr) return 0;
    long found = 0;
    char line[256];
    while (found == 0 && std::fgets(line, sizeof line, status) != nullptr) {
        const std::string_view text{line};
        if (text.starts_with(field) && text.substr(field.size()).starts_with(':')) {
            found = std::strtol(line + field.size() + 1, nullptr, 10);
        }
    }
    std::fclose(status);
    return found;
}

// Measures how much this process has grown since this was made.
class growth {
public:
    // Prints "grew R anonymous A", in bytes: to the most that was resident, and to what of its own
    // it has now.
    void print() const {
        std::printf("grew %ld anonymous %ld\n", (memory_kib("VmHWM") - resident_) * 1024,
                    (memory_kib("RssAnon") - anonymous_) * 1024);
    }

private:
    long resident_ = memory_kib("VmRSS");
    long anonymous_ = memory_kib("RssAnon");
};

// Prints how the calls ended and what each cost this process; gives the exit code.
inline int report_calls(std::size_t count, std::size_t ok, std::size_t otherwise) {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto each = [count](const timeval& t) {
        return (static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec)) /
               static_cast<double>(count);
    };
    std::printf(
        "%zu of %zu ended with 200, %zu otherwise, user %.3f us, system %.3f us, "
        "peak %ld KiB\n",
        ok, count, otherwise, each(used.ru_utime), each(used.ru_stime), memory_kib("VmHWM"));
    return ok == count ? 0 : 1;
}

}  // namespace bench
