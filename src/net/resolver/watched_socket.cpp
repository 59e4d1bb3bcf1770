#include "net/resolver/watched_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace coracle::net::detail {
namespace {

constexpr int no_descriptor = -1;

}  // namespace

name_server::watched_socket* name_server::watched_socket::open(loop& owner, name_server& server,
                                                               int family, int type,
                                                               int protocol) noexcept {
    const int fd = ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (fd < 0) return nullptr;
    auto* const made = new (std::nothrow) watched_socket(owner, server, fd);
    if (made != nullptr) return made;
    ::close(fd);
    errno = ENOMEM;
    return nullptr;
}

name_server::watched_socket::watched_socket(loop& owner, name_server& server, int fd) noexcept
    : owner_(&owner), server_(&server), fd_(fd), input_(opcode::readable, *this, fd),
      output_(opcode::writable, *this, fd) {
    owner.service_started();
}

name_server::watched_socket::~watched_socket() {
    ::close(fd_);
    owner_->service_ended();
}

void name_server::watched_socket::want(bool readable, bool writable) noexcept {
    input_.wanted = readable;
    output_.wanted = writable;
    if (readable) watch(input_);
    if (writable) watch(output_);
}

void name_server::watched_socket::watch(direction& d) noexcept {
    if (d.waits) return;
    d.waits = true;
    if (owner_->backend().submit(d)) owner_->complete_later(d);
}

void name_server::watched_socket::done(io_operation& op) noexcept {
    auto& d = static_cast<direction&>(op);
    watched_socket& s = *d.self;
    d.waits = false;
    // A socket that cannot be watched is left alone: the query then ends by its timeout.
    if (s.server_ != nullptr && d.wanted && op.result >= 0) {
        s.working_ = true;
        const bool is_input = op.code == opcode::readable;
        s.server_->process(is_input ? s.fd_ : no_descriptor, is_input ? no_descriptor : s.fd_);
        s.working_ = false;
        if (s.server_ != nullptr && d.wanted) s.watch(d);
    }
    s.release_if_over();
}

void name_server::watched_socket::stop(direction& d) noexcept {
    if (d.waits) owner_->backend().cancel(d);
}

void name_server::watched_socket::close() noexcept {
    server_ = nullptr;
    stop(input_);
    stop(output_);
    release_if_over();
}

void name_server::watched_socket::release_if_over() noexcept {
    if (server_ == nullptr && !working_ && !input_.waits && !output_.waits) delete this;
}

}  // namespace coracle::net::detail
