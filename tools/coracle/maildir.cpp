#include "maildir.hpp"

#include "settings.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace coracle::tool {
namespace {

[[noreturn]] void fail(const std::string& about) {
    throw std::system_error(errno, std::generic_category(), about);
}

/// The name of this machine as a file may have it: Maildir has "\057" for a slash and "\072" for a
/// colon.
std::string host_name() {
    std::array<char, 256> text{};
    if (::gethostname(text.data(), text.size() - 1) != 0) return "localhost";
    std::string name;
    for (const char c : std::string_view(text.data())) {
        if (c == '/')
            name += "\\057";
        else if (c == ':')
            name += "\\072";
        else
            name += c;
    }
    return name.empty() ? "localhost" : name;
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) fail(path);
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fsync(fd) != 0) fail(path);
}

}  // namespace

maildir::maildir(std::string path) : path_(std::move(path)), host_(host_name()) {
    for (const char* const part : {"", "/tmp", "/new", "/cur"}) {
        const std::string one = path_ + part;
        if (::mkdir(one.c_str(), 0700) == 0 || errno == EEXIST) continue;
        throw failure("cannot make the directory '" + one +
                      "': " + std::generic_category().message(errno) + " (--directory)");
    }
    if (::access((path_ + "/tmp").c_str(), W_OK | X_OK) != 0 ||
        ::access((path_ + "/new").c_str(), W_OK | X_OK) != 0) {
        throw failure("cannot write to '" + path_ + "': " + std::generic_category().message(errno) +
                      " (--directory)");
    }
    const std::string kept = path_ + "/new";
    new_ = owned_fd(::open(kept.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!new_) {
        throw failure("cannot open the directory '" + kept +
                      "': " + std::generic_category().message(errno) + " (--directory)");
    }
}

void maildir::add(std::string_view mail, std::size_t number, std::int64_t unix_time,
                  std::uint64_t random) const {
    std::array<char, 96> unique{};
    std::snprintf(unique.data(), unique.size(), "%lld.P%ldQ%zuR%016llx.",
                  static_cast<long long>(unix_time), static_cast<long>(::getpid()), number,
                  static_cast<unsigned long long>(random));
    const std::string name = unique.data() + host_;
    const std::string from = path_ + "/tmp/" + name;
    const std::string to = path_ + "/new/" + name;
    const owned_fd fd(::open(from.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) fail(from);
    try {
        write_all(fd.get(), mail, from);
        if (::rename(from.c_str(), to.c_str()) != 0) fail(to);
    } catch (...) {
        ::unlink(from.c_str());
        throw;
    }
    // The new name, too, outlives a crash.
    if (::fsync(new_.get()) == 0) return;
    const int why = errno;
    ::unlink(to.c_str());
    errno = why;
    fail(to);
}

}  // namespace coracle::tool
