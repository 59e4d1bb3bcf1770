#include "support/http_peer.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>

namespace coracle::testing {
namespace {

/// For a line of the peer: a Go program may have to be built first.
constexpr int patience_ms = 300'000;

[[noreturn]] void fail(const std::string& what) {
    throw std::runtime_error(what);
}

/// The rest of `line` behind its first word; empty when that is another one.
std::string behind(const std::string& line, std::string_view word) {
    if (!line.starts_with(word)) return {};
    const std::size_t at = word.size() + 1;
    return at < line.size() ? line.substr(at) : std::string();
}

}  // namespace

std::unique_ptr<http_peer> http_peer::start(const std::string& name) {
    std::unique_ptr<http_peer> peer(new http_peer(name));
    peer->launch();
    const std::string missing = peer->read_urls();
    if (missing.empty()) return peer;
    const char* const required = std::getenv("CORACLE_REQUIRE_PEERS");
    if (required != nullptr && std::string_view(required) == "1") fail(missing);
    return nullptr;
}

http_peer::~http_peer() {
    // Its standard input ends, and it stops its server.
    if (connection_ >= 0) ::close(connection_);
    if (pid_ <= 0) return;
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void http_peer::launch() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
    connection_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string python = "python3";
    std::string program = CORACLE_TEST_SOURCE_DIR "/tests/support/http_peers";
    char* arguments[] = {python.data(), program.data(), name_.data(), nullptr};
    ::setenv("CORACLE_TEST_BIN_DIR", CORACLE_TEST_BIN_DIR, 0);
    const int wrong = ::posix_spawnp(&pid_, "python3", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (wrong == 0) return;
    pid_ = -1;
    fail("python3 cannot be started");
}

std::string http_peer::read_line() {
    for (;;) {
        if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
            std::string line = pending_.substr(0, end);
            pending_.erase(0, end + 1);
            return line;
        }
        pollfd wanted{connection_, POLLIN, 0};
        if (::poll(&wanted, 1, patience_ms) <= 0) fail(name_ + " says nothing");
        char bytes[4096];
        const ssize_t n = ::recv(connection_, bytes, sizeof bytes, 0);
        if (n <= 0) fail(name_ + " has ended: " + pending_);
        pending_.append(bytes, static_cast<std::size_t>(n));
    }
}

std::string http_peer::read_urls() {
    for (std::string line = read_line(); line != "ready"; line = read_line()) {
        if (line.starts_with("missing ")) return behind(line, "missing");
        const std::size_t space = line.find(' ');
        if (space == std::string::npos) fail(name_ + " said " + line);
        urls_[line.substr(0, space)] = line.substr(space + 1);
    }
    return {};
}

std::string http_peer::tell(const std::string& command) {
    const std::string line = command + '\n';
    if (::send(connection_, line.data(), line.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(line.size())) {
        fail(name_ + " has ended");
    }
    const std::string reply = read_line();
    if (!reply.starts_with("ok")) fail(command + ": " + reply);
    return behind(reply, "ok");
}

}  // namespace coracle::testing
