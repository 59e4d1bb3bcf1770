#pragma once

#include "support/temporary_directory.hpp"

#include <coracle/runtime/owned_fd.hpp>

#include <string>
#include <vector>

namespace coracle::testing {

/// Debian's redis-server for a test, on a Unix socket in a directory of its own, and with TLS on a
/// port. Its data are in memory only, and gone when it is stopped. Ended by its number.
class redis_server {
public:
    /// Returns true if the machine has one.
    static bool is_installed();

    /// `arguments` are those of redis-server.
    explicit redis_server(std::vector<std::string> arguments = {});
    ~redis_server();
    redis_server(const redis_server&) = delete;
    redis_server& operator=(const redis_server&) = delete;

    /// Returns when it accepts connections. Throws when it does not within 30 s.
    void start();
    void stop();
    /// Stops the process where it is, and lets it go on.
    void freeze() const;
    void thaw() const;

    /// "unix:///path"
    std::string url() const { return "unix://" + socket(); }
    std::string socket() const { return directory_.path() / "redis.sock"; }
    const temporary_directory& directory() const noexcept { return directory_; }
    /// Arguments are as in a shell: sends a command on a connection of its own, and gives the bytes
    /// of the reply.
    std::string ask(const std::vector<std::string>& command) const;

private:
    int connect() const;

    temporary_directory directory_;
    std::vector<std::string> arguments_;
    int pid_ = -1;
};

/// A TCP port of the loopback that nobody else gets, for redis-server, which cannot choose one by
/// itself. It is bound by a socket that does not listen, beside which a server can.
class held_port {
public:
    held_port();
    std::string number() const { return std::to_string(number_); }

private:
    owned_fd holder_;
    int number_;
};

}  // namespace coracle::testing
