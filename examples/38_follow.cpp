// Prints what is written to a file, as `tail -F` does: follow FILE
//
// It goes on when the file is rotated (another one gets its name), cut, deleted and made anew, and
// waits for one that is not there yet. It ends with the directory that the file is in.

#include <coracle/fs/watch.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/runtime.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

using namespace coracle;

namespace {

/// A file that others write to. Its calls block, so they are made on the offload pool.
class followed_file {
public:
    explicit followed_file(std::string path) : path_(std::move(path)) {}

    void skip_to_end() {
        open();
        if (fd_) offset_ = ::lseek(fd_.get(), 0, SEEK_END);
    }

    /// Reads a piece of the bytes that were appended since the last time; empty when there are no
    /// more.
    std::string read_on() {
        for (;;) {
            std::string piece = read_piece();
            if (!piece.empty()) return piece;
            // All of this file has been read. Another one may have its name by now, or none; then
            // some lines may have been written to this one just before.
            if (is_the_named_one()) return piece;
            piece = read_piece();
            if (!piece.empty()) return piece;
            const bool had_one = static_cast<bool>(fd_);
            open();
            if (had_one) {
                std::fprintf(stderr, "%s is %s\n", path_.c_str(),
                             fd_ ? "another file now" : "gone");
            }
            if (!fd_) return piece;
        }
    }

private:
    void open() {
        fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        offset_ = 0;
    }

    std::string read_piece() {
        struct stat now{};
        if (!fd_ || ::fstat(fd_.get(), &now) != 0) return {};
        if (now.st_size < offset_) {
            std::fprintf(stderr, "%s was cut\n", path_.c_str());
            offset_ = 0;
        }
        std::string piece(64 * 1024, '\0');
        const ssize_t n = ::pread(fd_.get(), piece.data(), piece.size(), offset_);
        piece.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        offset_ += static_cast<off_t>(piece.size());
        return piece;
    }

    bool is_the_named_one() const {
        struct stat ours{};
        struct stat named{};
        return fd_ && ::fstat(fd_.get(), &ours) == 0 && ::stat(path_.c_str(), &named) == 0 &&
               ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
    }

    std::string path_;
    owned_fd fd_;
    off_t offset_ = 0;
};

task<> print_new(followed_file& file) {
    auto read_on = [&file] { return file.read_on(); };
    for (;;) {
        const std::string piece = co_await offload(read_on);
        if (piece.empty()) co_return;
        std::cout << piece << std::flush;
    }
}

task<> follow(std::string path) {
    followed_file file(path);
    // It is watched before it is read, or what is written in between would be missed.
    auto changes = co_await fs::watch(path);
    auto skip = [&file] { file.skip_to_end(); };
    co_await offload(skip);
    std::fprintf(stderr, "following %s\n", path.c_str());
    while (auto change = co_await changes.next()) co_await print_new(file);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: follow FILE\n";
        return 2;
    }
    try {
        block_on([&] { return follow(argv[1]); });
    } catch (const exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
