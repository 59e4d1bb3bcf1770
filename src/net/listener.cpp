#include <coracle/net/listener.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace coracle::net {
namespace {

/// The connection died before it was accepted (accept(2), "Error handling").
bool died_while_waiting(std::int64_t result) noexcept {
    switch (-result) {
        case ECONNABORTED:
        case EPROTO:
        case ENETDOWN:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH: return true;
        default: return false;
    }
}

int open_spare() noexcept {
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

}  // namespace

bool accepting::start() noexcept {
    on = listener_->descriptor_.get();
    backend& b = owner().backend();
    while (b.submit(*this)) {
        if (died_while_waiting(io_operation::result)) continue;
        if (owner().may_complete_inline()) return true;
        owner().complete_later(*this);
        return false;
    }
    return false;
}

void accepting::cancel() noexcept {
    owner().backend().cancel(*this);
}

void accepting::done(io_operation& op) noexcept {
    auto& self = static_cast<accepting&>(op);
    if (op.result == -ECANCELED) self.mark_cancelled();
    if (died_while_waiting(op.result) && !self.start()) return;
    self.complete();
}

std::expected<std::unique_ptr<socket>, error> accepting::result() {
    if (io_operation::result >= 0) {
        return socket::adopt(*listener_->owner_, static_cast<int>(io_operation::result),
                             address::from(peer));
    }
    const std::error_code number(static_cast<int>(-io_operation::result), std::generic_category());
    return std::unexpected(error(number, name).on(listener_->local_.to_string()));
}

std::expected<listener, error> listener::open(loop& owner, const address& at,
                                              const socket_options& options) {
    endpoint e = at.to_endpoint();
    auto fd = owner.backend().listen(e, options);
    if (!fd) return std::unexpected(fd.error().on(at.to_string()));
    return adopt(owner, *fd, address::from(e));
}

std::expected<listener, error> listener::share(loop& owner, const listener& with) {
    auto fd = owner.backend().duplicate(*with.descriptor_);
    if (!fd) return std::unexpected(fd.error().on(with.local_.to_string()));
    return adopt(owner, *fd, with.local_);
}

std::expected<listener, error> listener::adopt(loop& owner, int fd, const address& at) {
    listener l(owner, at);
    l.descriptor_ = std::make_unique<descriptor>();
    if (auto attached = owner.backend().attach(*l.descriptor_, fd); !attached) {
        owner.backend().discard(fd);
        return std::unexpected(std::move(attached).error());
    }
    l.spare_ = open_spare();
    return l;
}

listener::listener(listener&& other) noexcept
    : owner_(other.owner_), descriptor_(std::move(other.descriptor_)),
      spare_(std::exchange(other.spare_, -1)), local_(std::move(other.local_)) {}

listener::~listener() {
    close();
    if (spare_ >= 0) ::close(spare_);
}

void listener::close() noexcept {
    if (descriptor_ && descriptor_->open()) owner_->backend().close(*descriptor_);
}

void listener::refuse_one() noexcept {
    if (spare_ >= 0) ::close(std::exchange(spare_, -1));
    owner_->backend().turn_away(*descriptor_);
    spare_ = open_spare();
}

}  // namespace coracle::net
