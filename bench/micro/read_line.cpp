// Reading a log line by line, and a file in blocks, against what a blocking program would do:
// bench_read_line [--quick] [--size MIB] [--rounds N] [--folder PATH]
//
// Makes a log of 1 GiB (128 MiB with --quick) in a folder of its own, which is removed afterwards,
// and reads it from the page cache. Of each way the best of the rounds counts, in seconds of CPU of
// the whole process; the ways take turns, and the last one is the first one again: where these two
// differ, so may all the others.

#include "../support/ways.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/runtime.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

using namespace coracle;
using namespace bench;

namespace {

constexpr std::size_t block = std::size_t{256} * 1024;

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

/// The result that every way must find.
struct found {
    std::uint64_t lines = 0;
    std::uint64_t bytes = 0;
    void add(std::size_t size) noexcept {
        ++lines;
        bytes += size;
    }
    std::uint64_t digest() const noexcept { return lines * 1'000'003 + bytes; }
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

}  // namespace

int main(int argc, char** argv) {
    const way_options options(argc, argv);
    const std::uint64_t usual = options.quick ? 128 : 1024;
    const std::uint64_t mebibytes = options.size != 0 ? options.size : usual;
    const own_folder folder(options.folder);
    const std::string path = folder.path() + "/log";
    block_on([&] { return write_log(path, mebibytes << 20); });
    const auto by = [&path](const char* name, found (*f)(const std::string&)) {
        return way{name, [f, &path] { return f(path).digest(); }};
    };
    compare("lines",
            {by("memchr over mmap", with_mmap), by("io::reader::read_line", with_reader),
             by("std::getline", with_getline), by("fgets", with_fgets)},
            options.rounds);
    compare("blocks of 256 KiB",
            {by("read(2)", blocks_with_read), by("fs::file::read_at", blocks_with_file),
             by("io::reader::read_some", blocks_with_reader)},
            options.rounds);
    return 0;
}
