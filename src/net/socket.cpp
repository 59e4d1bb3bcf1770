#include <coracle/net/socket.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <cstdint>
#include <new>

namespace coracle::net {
namespace {

class connecting final : public coracle::detail::leaf<connecting, void>, address_operation {
public:
    static constexpr const char* name = "connect";
    connecting(socket& s, const endpoint& to) noexcept
        : address_operation(opcode::connect, &done), socket_(&s) {
        peer = to;
    }
    bool start() noexcept { return may_begin() && socket_->start(*this); }
    void cancel() noexcept override {
        if (!withdrawn_before_start()) socket_->cancel(*this);
    }
    std::expected<void, error> result() const {
        if (io_operation::result >= 0) return {};
        const int number = static_cast<int>(-io_operation::result);
        return std::unexpected(
            error(std::error_code(number, std::generic_category()), name, phase::connect)
                .on(address::from(peer).to_string())
                .retry_is_safe(true));
    }

private:
    static void done(io_operation& op) noexcept {
        auto& self = static_cast<connecting&>(op);
        if (op.result == -ECANCELED) self.mark_cancelled();
        self.complete();
    }
    socket* socket_;
};

}  // namespace

std::expected<std::unique_ptr<socket>, error> socket::adopt(loop& owner, int fd,
                                                            const address& peer) {
    std::unique_ptr<socket> s(new (std::nothrow) socket(owner, peer));
    if (s == nullptr) {
        owner.backend().discard(fd);
        return std::unexpected(error(std::errc::not_enough_memory, "socket"));
    }
    if (auto attached = owner.backend().attach(s->descriptor_, fd); !attached) {
        owner.backend().discard(fd);
        return std::unexpected(std::move(attached).error());
    }
    if (peer.family() == family::unix_path) owner.backend().may_read_short(s->descriptor_);
    return s;
}

void socket::close(bool reset) noexcept {
    if (descriptor_.open()) owner_->backend().close(descriptor_, reset);
}

namespace {

/// Returns true for 0.0.0.0, :: and ::ffff:0.0.0.0, in whose place the system puts the address of
/// our own end.
bool stands_for_local(const address& a) {
    const auto bytes = a.bytes();
    const auto shown = a.is_mapped() ? bytes.last(4) : bytes;
    return std::ranges::all_of(shown, [](std::uint8_t b) { return b == 0; });
}

/// Where nobody listens at a port of this machine that may be chosen for a socket, some attempt
/// gets that very port, and meets itself (RFC 9293 section 3.5).
bool is_connected_to_itself(const socket& s, const address& to) {
    if (to.family() == family::unix_path) return false;
    const auto local = s.local();
    if (!local || local->port() != to.port()) return false;
    return *local == to || stands_for_local(to);
}

task<std::expected<std::unique_ptr<socket>, error>> connect_to(address to, socket_options options) {
    loop& l = *loop::current();
    const endpoint target = to.to_endpoint();
    auto fd = l.backend().open_stream(target, options);
    if (!fd) {
        // A task that tries again and again must not hold the loop.
        auto yielded = yield();
        static_cast<void>(co_await as_result(yielded));
        co_return std::unexpected(fd.error().in(phase::connect).on(to.to_string()));
    }
    auto s = socket::adopt(l, *fd, to);
    if (!s) co_return std::unexpected(std::move(s).error());
    auto connected = co_await as_result(connecting(**s, target));
    if (!connected) co_return std::unexpected(std::move(connected).error());
    if (is_connected_to_itself(**s, to)) {
        (*s)->close(true);
        error refused(std::errc::connection_refused, "connect", phase::connect);
        refused.retry_is_safe(true);
        co_return std::unexpected(std::move(refused.on(to.to_string())));
    }
    co_return std::move(*s);
}

}  // namespace

operation<std::unique_ptr<socket>> connect(const address& to, const socket_options& options) {
    return connect_to(to, options);
}

}  // namespace coracle::net
