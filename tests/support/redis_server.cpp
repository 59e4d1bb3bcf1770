#include "support/redis_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern char** environ;

namespace coracle::testing {
namespace {

std::string program() {
    for (const char* const folder : {"/usr/bin/", "/usr/local/bin/", "/usr/sbin/"}) {
        const std::string path = std::string(folder) + "redis-server";
        if (::access(path.c_str(), X_OK) == 0) return path;
    }
    return {};
}

}  // namespace

bool redis_server::is_installed() {
    return !program().empty();
}

redis_server::redis_server(std::vector<std::string> arguments) : arguments_(std::move(arguments)) {
    start();
}

redis_server::~redis_server() {
    stop();
}

void redis_server::start() {
    std::vector<std::string> all = {
        program(),         "--port", "0", "--unixsocket", socket(), "--appendonly", "no", "--dir",
        directory_.path(), "--save", "",  "--daemonize",  "no"};
    all.insert(all.end(), arguments_.begin(), arguments_.end());
    std::vector<char*> argv;
    for (std::string& a : all) argv.push_back(a.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    const std::string log = directory_.path() / "redis.log";
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int failed = posix_spawn(&pid_, all[0].c_str(), &files, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed != 0) throw std::runtime_error("redis-server cannot be started");
    constexpr int attempts = 15'000;
    constexpr int pause_ms = 2;
    for (int i = 0;; ++i) {
        const int fd = connect();
        if (fd >= 0) {
            ::close(fd);
            return;
        }
        if (i == attempts || ::waitpid(pid_, nullptr, WNOHANG) == pid_) {
            throw std::runtime_error("redis-server does not serve; see " + log);
        }
        ::poll(nullptr, 0, pause_ms);
    }
}

void redis_server::stop() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
    ::unlink(socket().c_str());
}

void redis_server::freeze() const {
    ::kill(pid_, SIGSTOP);
    // It is stopped when the kernel says so, not when the signal is sent.
    ::waitpid(pid_, nullptr, WUNTRACED);
}

void redis_server::thaw() const {
    ::kill(pid_, SIGCONT);
}

int redis_server::connect() const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const std::string path = socket();
    std::memcpy(to.sun_path, path.data(), path.size());
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return fd;
    ::close(fd);
    return -1;
}

std::string redis_server::ask(const std::vector<std::string>& command) const {
    std::string bytes = '*' + std::to_string(command.size()) + "\r\n";
    for (const std::string& part : command) {
        bytes += '$' + std::to_string(part.size()) + "\r\n" + part + "\r\n";
    }
    const int fd = connect();
    if (fd < 0) throw std::runtime_error("redis-server does not serve");
    if (::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) bytes.clear();
    std::string reply;
    pollfd ready{fd, POLLIN, 0};
    // One packet on a Unix socket is enough for the short replies that tests look at.
    if (::poll(&ready, 1, 30'000) == 1) {
        reply.resize(65'536);
        const auto n = ::recv(fd, reply.data(), reply.size(), 0);
        reply.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    ::close(fd);
    return reply;
}

held_port::held_port() : holder_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    // Both sockets must set it for a second one to be bound there.
    const int yes = 1;
    ::setsockopt(holder_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ::bind(holder_.get(), reinterpret_cast<const sockaddr*>(&at), size);
    ::getsockname(holder_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    number_ = ntohs(at.sin_port);
}

}  // namespace coracle::testing
