// Reading a log line by line, and a file in blocks, against what a blocking program would do:
// bench_read_line [--quick] [--size MIB] [--rounds N] [--folder PATH]
//
// Makes a log of 1 GiB (128 MiB with --quick) in a folder of its own, which is removed afterwards,
// and reads it from the page cache. Of each way the best of the rounds counts, in seconds of CPU of
// the whole process; the ways take turns, and the last one is the first one again: where these two
// differ, so may all the others.

#include <coracle/fs/file.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/runtime.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using namespace coracle;

namespace {

constexpr std::size_t block = std::size_t{256} * 1024;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Lines as a web server logs them: 60 to 180 bytes.
task<> write_log(const std::string& path, std::uint64_t size) {
    fs::file file = co_await fs::open(path, fs::rewrite);
    io::writer out(file);
    std::uint64_t x = 88172645463325252;
    const std::string agent(120, 'a');
    while (out.position() < size) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const std::string_view some(agent.data(), x % 121);
        co_await out.print("10.0.{}.{} GET /index/{} HTTP/1.1 200 {} {}\n", x >> 8 & 255,
                           x >> 16 & 255, x >> 24 & 0xFFFF, x >> 40 & 0xFFFF, some);
    }
    co_await out.flush();
}

/// What every way must find.
struct found {
    std::uint64_t lines = 0;
    std::uint64_t bytes = 0;
    void add(std::size_t size) noexcept {
        ++lines;
        bytes += size;
    }
    friend bool operator==(const found&, const found&) = default;
};

found with_reader(const std::string& path) {
    return block_on([&]() -> task<found> {
        fs::file file = co_await fs::open(path);
        io::reader in(file);
        found all;
        while (auto line = co_await in.read_line()) all.add(line->size());
        co_return all;
    });
}

found with_getline(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    found all;
    while (std::getline(in, line)) all.add(line.size());
    return all;
}

found with_fgets(const std::string& path) {
    std::FILE* in = std::fopen(path.c_str(), "r");
    if (in == nullptr) fail("fopen");
    char line[4096];
    found all;
    while (std::fgets(line, sizeof line, in) != nullptr) all.add(std::strlen(line) - 1);
    std::fclose(in);
    return all;
}

found with_mmap(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail("open");
    const auto size = static_cast<std::size_t>(::lseek(fd, 0, SEEK_END));
    void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) fail("mmap");
    const char* at = static_cast<const char*>(mapped);
    const char* const end = at + size;
    found all;
    while (at != end) {
        const void* const stop = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
        const char* const last = stop == nullptr ? end : static_cast<const char*>(stop);
        all.add(static_cast<std::size_t>(last - at));
        at = stop == nullptr ? end : last + 1;
    }
    ::munmap(mapped, size);
    ::close(fd);
    return all;
}

found blocks_with_read(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) fail("open");
    std::vector<char> room(block);
    found all;
    for (;;) {
        const ssize_t n = ::read(fd, room.data(), room.size());
        if (n < 0) fail("read");
        if (n == 0) break;
        all.bytes += static_cast<std::size_t>(n);
    }
    ::close(fd);
    return all;
}

found blocks_with_file(const std::string& path) {
    return block_on([&]() -> task<found> {
        fs::file file = co_await fs::open(path);
        std::vector<char> room(block);
        found all;
        while (const std::size_t n = co_await file.read_at(all.bytes, room)) all.bytes += n;
        co_return all;
    });
}

found blocks_with_reader(const std::string& path) {
    return block_on([&]() -> task<found> {
        fs::file file = co_await fs::open(path);
        io::reader in(file, {.block = block});
        found all;
        for (;;) {
            const std::string_view some = co_await in.read_some();
            if (some.empty()) break;
            all.bytes += some.size();
        }
        co_return all;
    });
}

struct way {
    const char* name;
    found (*run)(const std::string& path);
    double best = 1e9;
};

// Gives the best time of each; the first is what the others are compared with.
void compare(const char* title, std::vector<way> ways, const std::string& path, int rounds) {
    ways.push_back({"the first again", ways.front().run});
    found expected;
    for (int round = 0; round != rounds; ++round) {
        for (way& w : ways) {
            const double before = cpu_seconds();
            const found all = w.run(path);
            w.best = std::min(w.best, cpu_seconds() - before);
            if (expected.bytes == 0) expected = all;
            if (all != expected) {
                std::fprintf(stderr, "%s: another result than %s\n", w.name, ways.front().name);
                std::exit(1);
            }
        }
    }
    std::printf("%s\n", title);
    for (const way& w : ways) {
        std::printf("  %-28s %7.3f s CPU  %5.2f\n", w.name, w.best, w.best / ways.front().best);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t mebibytes = 1024;
    int rounds = 5;
    std::filesystem::path folder = std::filesystem::temp_directory_path();
    for (int i = 1; i != argc; ++i) {
        const std::string_view word = argv[i];
        const char* const value = i + 1 == argc ? "" : argv[i + 1];
        if (word == "--quick") {
            mebibytes = 128;
            continue;
        }
        if (word == "--size") mebibytes = std::strtoull(value, nullptr, 10);
        if (word == "--rounds") rounds = std::atoi(value);
        if (word == "--folder") folder = value;
        ++i;
    }
    std::string own = folder / "coracle-bench-XXXXXX";
    if (::mkdtemp(own.data()) == nullptr) fail("mkdtemp");
    const std::string path = own + "/log";
    block_on([&] { return write_log(path, mebibytes << 20); });
    compare("lines",
            {{"memchr over mmap", with_mmap},
             {"io::reader::read_line", with_reader},
             {"std::getline", with_getline},
             {"fgets", with_fgets}},
            path, rounds);
    compare("blocks of 256 KiB",
            {{"read(2)", blocks_with_read},
             {"fs::file::read_at", blocks_with_file},
             {"io::reader::read_some", blocks_with_reader}},
            path, rounds);
    std::filesystem::remove_all(own);
    return 0;
}
