#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The common part of benchmarks that do one thing in several ways, one of them a blocking
/// program's, and count the CPU time of the whole process: its threads, and the kernel's for it.
namespace bench {

[[noreturn]] inline void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

inline double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// A folder of one's own, removed with all that is in it.
class own_folder {
public:
    explicit own_folder(const std::filesystem::path& in) : path_(in / "coracle-bench-XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) fail("mkdtemp");
    }
    own_folder(const own_folder&) = delete;
    own_folder& operator=(const own_folder&) = delete;
    ~own_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

struct way {
    const char* name;
    /// Gives what every way must find.
    std::function<std::uint64_t()> run;
    double best = 1e9;
    double best_elapsed = 1e9;
};

inline double elapsed_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// The ways take turns, and of each the best round counts. The first is what the others are
/// compared with, and comes once more as the last: where these two differ, so may all the others.
/// `prepare` comes before each, and does not count.
inline void compare(
    const char* title, std::vector<way> ways, int rounds,
    const std::function<void()>& prepare = [] {}) {
    ways.push_back({"the first again", ways.front().run});
    const std::uint64_t expected = ways.front().run();
    for (int round = 0; round != rounds; ++round) {
        for (way& w : ways) {
            prepare();
            const double before = cpu_seconds();
            const double begin = elapsed_seconds();
            const std::uint64_t found = w.run();
            w.best = std::min(w.best, cpu_seconds() - before);
            w.best_elapsed = std::min(w.best_elapsed, elapsed_seconds() - begin);
            if (found == expected) continue;
            std::fprintf(stderr, "%s: another result than %s\n", w.name, ways.front().name);
            std::exit(1);
        }
    }
    std::printf("%s\n", title);
    for (const way& w : ways) {
        std::printf("  %-36s %8.3f s CPU  %5.2f   %8.3f s elapsed  %5.2f\n", w.name, w.best,
                    w.best / ways.front().best, w.best_elapsed,
                    w.best_elapsed / ways.front().best_elapsed);
    }
    std::fflush(stdout);
}

/// --quick, --rounds N, --folder PATH; `--size N` is the program's.
struct way_options {
    bool quick = false;
    int rounds = 5;
    std::uint64_t size = 0;
    std::filesystem::path folder = std::filesystem::temp_directory_path();

    way_options(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            const std::string_view word = argv[i];
            if (word == "--quick") {
                quick = true;
                continue;
            }
            const char* const value = ++i < argc ? argv[i] : "";
            if (word == "--size") size = std::strtoull(value, nullptr, 10);
            if (word == "--rounds") rounds = std::atoi(value);
            if (word == "--folder") folder = value;
        }
    }
};

}  // namespace bench
