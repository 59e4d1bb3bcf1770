#include "net/resolver/system_files.hpp"

#include "net/resolver/name.hpp"

#include <coracle/runtime/owned_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

namespace coracle::net::detail {
namespace {

constexpr std::size_t largest_file = 16 * 1024 * 1024;
constexpr std::uint16_t name_server_port = 53;
constexpr std::size_t most_servers = 8;
constexpr unsigned most_dots = 15;

std::string_view take_line(std::string_view& text) noexcept {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    return line.substr(0, line.find_first_of("#;"));
}

std::string_view take_word(std::string_view& line) noexcept {
    constexpr std::string_view space = " \t\r";
    const std::size_t begin = line.find_first_not_of(space);
    if (begin == std::string_view::npos) return {};
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(space));
    line.remove_prefix(word.size());
    return word;
}

void read_search(std::string_view line, name_configuration& into) {
    into.search.clear();
    bool absolute = false;
    for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
        if (auto domain = canonical_name(word, absolute)) into.search.push_back(*std::move(domain));
    }
}

void read_options(std::string_view line, name_configuration& into) {
    for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
        if (!word.starts_with("ndots:")) continue;
        word.remove_prefix(6);
        unsigned dots = 0;
        std::from_chars(word.data(), word.data() + word.size(), dots);
        into.dots = dots < most_dots ? dots : most_dots;
    }
}

}  // namespace

host_table read_hosts(std::string_view text) {
    host_table table;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        const auto a = numeric_address(take_word(line));
        if (!a) continue;
        bool absolute = false;
        for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
            if (auto name = canonical_name(word, absolute)) table[*name].push_back(*a);
        }
    }
    return table;
}

name_configuration read_configuration(std::string_view text) {
    name_configuration c;
    while (!text.empty()) {
        std::string_view line = take_line(text);
        const std::string_view key = take_word(line);
        if (key == "nameserver" && c.servers.size() < most_servers) {
            auto a = numeric_address(take_word(line));
            if (!a) continue;
            a->set_port(name_server_port);
            c.servers.push_back(*a);
        } else if (key == "search" || key == "domain") {
            read_search(line, c);
        } else if (key == "options") {
            read_options(line, c);
        }
    }
    return c;
}

bool watched_file::changed() {
    stamp now;
    struct stat s{};
    if (!path_.empty() && ::stat(path_.c_str(), &s) == 0) {
        now.device = s.st_dev;
        now.inode = s.st_ino;
        now.seconds = s.st_mtim.tv_sec;
        now.nanoseconds = s.st_mtim.tv_nsec;
        now.size = s.st_size;
    }
    const bool other = !read_before_ || now != last_;
    read_before_ = true;
    last_ = now;
    return other;
}

std::optional<std::string> watched_file::read() const {
    std::string text;
    if (path_.empty()) return text;
    const owned_fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) {
        const bool is_lacking = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
        return is_lacking ? std::nullopt : std::optional(std::move(text));
    }
    char block[16 * 1024];
    while (text.size() <= largest_file) {
        const ssize_t n = ::read(fd.get(), block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::nullopt;
        if (n == 0) break;
        text.append(block, static_cast<std::size_t>(n));
    }
    return text;
}

}  // namespace coracle::net::detail
