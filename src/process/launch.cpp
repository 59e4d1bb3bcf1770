#include "process/launch.hpp"

#include "net/raised_limit.hpp"
#include "process/spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace coracle::process::detail {
namespace {

constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";

error failure(int number, const char* operation, std::string_view subject) {
    error e(std::error_code(number, std::generic_category()), operation);
    return std::move(e.on(subject));
}

std::string_view value_in(const std::vector<std::string>& environment, std::string_view name,
                          std::string_view otherwise) {
    for (const std::string_view v : environment) {
        if (v.starts_with(name) && v.substr(name.size()).starts_with('=')) {
            return v.substr(name.size() + 1);
        }
    }
    return otherwise;
}

std::string_view search_path(const plan& p) {
    return value_in(p.environment, "PATH", default_path);
}

/// Returns the possible paths of the program; an empty part of PATH is the current directory.
std::vector<std::string> candidates(const plan& p) {
    std::vector<std::string> all;
    if (p.program.find('/') != std::string::npos) {
        all.push_back(p.program);
        return all;
    }
    const std::string_view path = search_path(p);
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find(':', at), path.size());
        std::string candidate(path.substr(at, end - at));
        if (!candidate.empty()) candidate += '/';
        all.push_back(candidate.append(p.program));
        at = end + 1;
    }
    return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (std::string& t : texts) all.push_back(t.data());
    all.push_back(nullptr);
    return all;
}

bool is_fifo(const std::string& path) noexcept {
    struct stat s{};
    return ::stat(path.c_str(), &s) == 0 && S_ISFIFO(s.st_mode);
}

/// Returns true if a FIFO that we read has a writer, or had one. Consumes no bytes.
std::expected<bool, error> has_met_a_writer(int fd, const std::string& path) {
    pollfd p{fd, POLLIN, 0};
    int ready = -1;
    do {
        ready = ::poll(&p, 1, 0);
    } while (ready < 0 && errno == EINTR);
    if (ready != 0) return true;
    // A silent writer shows only in how a read would fail.
    int copy[2];
    if (::pipe2(copy, O_CLOEXEC) != 0) return std::unexpected(failure(errno, "pipe2", path));
    const owned_fd reader(copy[0]);
    const owned_fd writer(copy[1]);
    return ::tee(fd, writer.get(), 1, SPLICE_F_NONBLOCK) != 0;
}

/// Opens a redirect's file; false for a FIFO whose other end is not open.
std::expected<bool, error> open_path(owned_fd& fd, const std::string& path, int flags) {
    const bool fifo = is_fifo(path);
    // A read end that waits stays open, or its writer would lose it again.
    if (!fd) {
        const int wait = fifo ? O_NONBLOCK : 0;
        fd.reset(::open(path.c_str(), flags | wait | O_CLOEXEC | O_NOCTTY, 0666));
        if (!fd && fifo && errno == ENXIO) return false;
        if (!fd) return std::unexpected(failure(errno, "open", path));
    }
    if (!fifo) return true;
    if ((flags & O_ACCMODE) == O_RDONLY) {
        const auto met = has_met_a_writer(fd.get(), path);
        if (!met || !*met) return met;
    }
    if (::fcntl(fd.get(), F_SETFL, flags & O_APPEND) != 0) {
        return std::unexpected(failure(errno, "fcntl", path));
    }
    return true;
}

std::expected<owned_fd, error> memory_with(std::string_view text) {
    owned_fd fd(::memfd_create("input", MFD_CLOEXEC));
    if (!fd) return std::unexpected(failure(errno, "memfd_create", "redirect::text"));
    while (!text.empty()) {
        const ssize_t n = ::write(fd.get(), text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(failure(errno, "write", "redirect::text"));
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    ::lseek(fd.get(), 0, SEEK_SET);
    return fd;
}

std::expected<bool, error> open_pipe(standard_streams& s, int number) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(failure(errno, "pipe2", "pipe"));
    const bool input = number == 0;
    s.theirs[number].reset(ends[input ? 0 : 1]);
    s.ours[number].reset(ends[input ? 1 : 0]);
    return true;
}

/// False: not yet.
std::expected<bool, error> open_stream(standard_streams& s, int number, const redirect& r) {
    const int write = number == 0 ? O_RDWR : O_WRONLY;
    owned_fd& fd = s.theirs[number];
    switch (r.what()) {
        case redirect::kind::pipe: return open_pipe(s, number);
        case redirect::kind::null: return open_path(fd, "/dev/null", O_RDWR);
        case redirect::kind::file:
            return open_path(fd, r.value(), number == 0 ? O_RDONLY : write | O_CREAT | O_TRUNC);
        case redirect::kind::append: return open_path(fd, r.value(), write | O_CREAT | O_APPEND);
        case redirect::kind::text: break;
        default: return true;
    }
    auto text = memory_with(r.value());
    if (!text) return std::unexpected(std::move(text).error());
    fd = *std::move(text);
    return true;
}

/// Returns our descriptor for stream `number` of the process; negative: the one of the same number.
int source_of(const plan& p, const standard_streams& s, int number) {
    const redirect& r = p.streams[number];
    switch (r.what()) {
        case redirect::kind::unset: return p.terminal ? p.terminal.get() : -1;
        case redirect::kind::inherit: return -1;
        case redirect::kind::descriptor: return r.fd();
        case redirect::kind::output: {
            const int output = source_of(p, s, 1);
            return output < 0 ? 1 : output;
        }
        default: return s.theirs[number].get();
    }
}

/// Returns the existing path of a program that could not be started.
std::string found(const plan& p, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        std::string full = path;
        if (!path.starts_with('/') && !p.directory.empty()) full = p.directory + '/' + path;
        if (::access(full.c_str(), F_OK) == 0) return path;
    }
    return {};
}

/// Returns advice about a program that cannot be started.
std::string advice(const plan& p, const std::vector<std::string>& paths, int number) {
    const std::string there = found(p, paths);
    switch (number) {
        case ENOENT:
            if (!there.empty()) return there + " (its interpreter, after #!, is not there)";
            if (paths.size() == 1 && paths[0] == p.program) return p.program + " (no such file)";
            return p.program + " (not in PATH=" + std::string(search_path(p)) +
                   "; install it or give its path)";
        case EACCES:
            return (there.empty() ? p.program : there) +
                   " (not executable: chmod +x, or a directory that may not be searched)";
        case ENOEXEC:
            return (there.empty() ? p.program : there) +
                   " (neither a program of this machine nor a script with #! and its interpreter; "
                   "run it by sh)";
        case E2BIG: return p.program + " (arguments and environment are too long; use a file)";
        default: return p.program;
    }
}

error explained(const plan& p, const std::vector<std::string>& paths, const spawn_failure& f) {
    const std::string_view call(f.call);
    if (call == "execve") return failure(f.number, f.call, advice(p, paths, f.number));
    if (call == "chdir") return failure(f.number, f.call, p.directory);
    return failure(f.number, f.call, "for " + p.program);
}

std::vector<descriptor_map> descriptor_maps(const plan& p, const standard_streams& s) {
    std::vector<descriptor_map> all;
    for (int number = 0; number != 3; ++number) {
        const int source = source_of(p, s, number);
        if (source >= 0) all.push_back({number, source});
    }
    for (const plan::mapped& m : p.descriptors) all.push_back({m.number, m.fd.get()});
    return all;
}

bool has_zero(const std::string& text) noexcept {
    return text.contains('\0');
}

/// Returns the fault in the redirect of stream `number`; null: none.
const char* fault_of(const redirect& r, int number) {
    using kind = redirect::kind;
    if (r.what() == kind::descriptor && r.fd() < 0) return "descriptor to redirect to";
    if (r.what() == kind::output && number == 1) return "redirection of the output to itself";
    const bool path = r.what() == kind::file || r.what() == kind::append;
    if (path && has_zero(r.value())) return "zero byte in a path to redirect to";
    return nullptr;
}

}  // namespace

std::vector<std::string> environment_of(const plan& p) {
    std::vector<std::string> all;
    if (!p.clear_environment) {
        for (char** v = environ; v != nullptr && *v != nullptr; ++v) all.emplace_back(*v);
    }
    for (const plan::variable& v : p.variables) {
        const std::string start = v.name + '=';
        std::erase_if(all, [&](const std::string& known) { return known.starts_with(start); });
        if (v.value) all.push_back(start + *v.value);
    }
    return all;
}

std::expected<void, error> check(const plan& p) {
    if (p.failure) return std::unexpected(*p.failure);
    const auto wrong = [&](std::string_view what) {
        return std::unexpected(failure(EINVAL, "command", std::string(what) + " of " + p.program));
    };
    if (p.program.empty() || has_zero(p.program)) return wrong("name");
    if (std::ranges::any_of(p.arguments, has_zero)) return wrong("zero byte in an argument");
    if (has_zero(p.directory)) return wrong("zero byte in the directory");
    for (const plan::variable& v : p.variables) {
        const bool bad = v.name.empty() || v.name.find('=') != std::string::npos ||
                         has_zero(v.name) || (v.value && has_zero(*v.value));
        if (bad) return wrong("environment variable");
    }
    for (const plan::mapped& m : p.descriptors) {
        if (m.number < 3 || !m.fd) return wrong("descriptor");
    }
    for (int number = 0; number != 3; ++number) {
        const char* const fault = fault_of(p.streams[number], number);
        if (fault != nullptr) return wrong(fault);
    }
    return {};
}

launch_result launch(plan& p, standard_streams& streams) {
    for (int& number = streams.opened; number != 3; ++number) {
        auto opened = open_stream(streams, number, p.streams[number]);
        if (!opened) return std::unexpected(std::move(opened).error());
        if (!*opened) return std::nullopt;
    }
    std::vector<std::string> paths = candidates(p);
    std::vector<descriptor_map> maps = descriptor_maps(p, streams);
    const std::vector<char*> path_pointers = pointers(paths);
    const std::vector<char*> arguments = pointers(p.arguments);
    const std::vector<char*> environment = pointers(p.environment);
    spawn_request request;
    request.candidates = path_pointers.data();
    request.arguments = arguments.data();
    request.environment = environment.data();
    if (!p.directory.empty()) request.directory = p.directory.c_str();
    request.descriptors = maps;
    request.terminal = p.terminal.get();
    request.new_session = p.new_session;
    request.own_group = p.own_group;
    request.descriptor_limit = net::detail::limit_before_it_was_raised();
    auto started = spawn(request);
    if (!started) return std::unexpected(explained(p, paths, started.error()));
    return launched{
        *std::move(started),
        {std::move(streams.ours[0]), std::move(streams.ours[1]), std::move(streams.ours[2])}};
}

}  // namespace coracle::process::detail
