#pragma once

#include "net/resolver/records.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

struct ares_channeldata;

namespace coracle::net::detail {

class question;

/// One name server, queried by c-ares. The caller decides if and how often to query another: c-ares
/// alone would report each failure of a server as a failed connection. Queries without a waiter are
/// given up, so that nothing keeps the loop running then.
class name_server final : coracle::detail::timer {
public:
    name_server(loop& owner, const address& at, duration timeout);
    ~name_server();
    name_server(const name_server&) = delete;
    name_server& operator=(const name_server&) = delete;

    const address& at() const noexcept { return at_; }
    /// The number of queries sent.
    std::size_t sent() const noexcept { return sent_; }
    /// Questions after which this version of c-ares needs another one of these.
    static const std::size_t most_questions;

private:
    friend class question;
    class watched_socket;
    struct pending;
    struct callbacks;

    void send(question& q) noexcept;
    void give_up(question& q) noexcept;
    void process(int readable_fd, int writable_fd) noexcept;
    void rearm() noexcept;
    void expired() noexcept override;

    loop* owner_;
    address at_;
    ares_channeldata* channel_ = nullptr;
    std::vector<watched_socket*> sockets_;
    std::size_t sent_ = 0;
    std::error_code lack_;    ///< of descriptors, when a socket was opened last
    std::size_t wanted_ = 0;  ///< queries with a waiter
};

/// Queries one server for records of a name, once. Returns the bytes of the response. Resumes
/// from the loop.
class [[nodiscard]] question final : public coracle::detail::leaf<question, std::string> {
public:
    static constexpr const char* name = "resolve";
    question(std::shared_ptr<name_server> server, const std::string& host,
             record_kind wanted) noexcept
        : server_(std::move(server)), host_(&host), wanted_(wanted) {}
    question(const question&) = delete;
    question& operator=(const question&) = delete;

    bool start() noexcept {
        server_->send(*this);
        return false;
    }
    void cancel() noexcept override;
    std::expected<std::string, error> result();

private:
    friend class name_server;
    void responded(std::error_code failure, std::string message) noexcept;

    std::shared_ptr<name_server> server_;
    const std::string* host_;
    record_kind wanted_;
    name_server::pending* pending_ = nullptr;
    std::error_code failure_;
    std::string message_;
};

}  // namespace coracle::net::detail
