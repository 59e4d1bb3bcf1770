#include "net/resolver/name_server.hpp"

#include "net/resolver/watched_socket.hpp"

#include <ares.h>
#include <netinet/in.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace coracle::net::detail {

struct name_server::pending {
    name_server* server;
    question* asker;  ///< null when the query was given up
};

/// The callbacks of c-ares. None of them resumes a task, so c-ares is never entered twice.
struct name_server::callbacks {
    static void responded(void* argument, int status, int, unsigned char* bytes,
                          int size) noexcept {
        const std::unique_ptr<pending> p(static_cast<pending*>(argument));
        if (p->asker == nullptr) return;
        --p->server->wanted_;
        std::string message;
        try {
            if (status == ARES_SUCCESS && bytes != nullptr && size > 0) {
                message.assign(reinterpret_cast<const char*>(bytes),
                               static_cast<std::size_t>(size));
            }
        } catch (const std::bad_alloc&) {
            status = ARES_ENOMEM;
        }
        // The server has not even been asked: `open` below had no socket for it.
        const std::error_code lack = std::exchange(p->server->lack_, {});
        const bool is_lack = status == ARES_ECONNREFUSED && lack;
        p->asker->responded(is_lack ? lack : failure_of(status), std::move(message));
    }

    static std::error_code failure_of(int status) noexcept {
        switch (status) {
            case ARES_SUCCESS: return {};
            case ARES_ETIMEOUT: return resolve_errc::timed_out;
            case ARES_EBADNAME: return resolve_errc::malformed_name;
            case ARES_EBADRESP: return resolve_errc::malformed_response;
            case ARES_ENOMEM: return std::make_error_code(std::errc::not_enough_memory);
            default: return resolve_errc::server_unreachable;
        }
    }

    static ares_socket_t open(int family, int type, int protocol, void* self) noexcept {
        auto& s = *static_cast<name_server*>(self);
        try {
            s.sockets_.reserve(s.sockets_.size() + 1);
        } catch (const std::bad_alloc&) {
            errno = ENOMEM;
            return ARES_SOCKET_BAD;
        }
        auto opened = watched_socket::open(*s.owner_, s, family, type, protocol);
        if (opened == nullptr) {
            if (errno == EMFILE || errno == ENFILE) s.lack_ = {errno, std::generic_category()};
            return ARES_SOCKET_BAD;
        }
        s.sockets_.push_back(opened);
        return opened->number();
    }

    static watched_socket* find(void* self, ares_socket_t fd) noexcept {
        auto& all = static_cast<name_server*>(self)->sockets_;
        const auto it = std::ranges::find(all, fd, &watched_socket::number);
        return it == all.end() ? nullptr : *it;
    }

    static int close(ares_socket_t fd, void* self) {
        watched_socket* s = find(self, fd);
        std::erase(static_cast<name_server*>(self)->sockets_, s);
        s->close();
        return 0;
    }

    /// c-ares passes an address without a zone, so the known address of the server is used instead.
    static int connect(ares_socket_t fd, const sockaddr*, ares_socklen_t, void* self) {
        const endpoint to = static_cast<name_server*>(self)->at_.to_endpoint();
        return ::connect(fd, reinterpret_cast<const sockaddr*>(to.bytes), to.size);
    }
    static ares_ssize_t receive(ares_socket_t fd, void* into, size_t size, int flags,
                                sockaddr* from, ares_socklen_t* from_size, void*) {
        return ::recvfrom(fd, into, size, flags, from, from_size);
    }
    static ares_ssize_t send(ares_socket_t fd, const iovec* pieces, int count, void*) {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(pieces);
        message.msg_iovlen = static_cast<std::size_t>(count);
        return ::sendmsg(fd, &message, MSG_NOSIGNAL);
    }
    static void interest(void* self, ares_socket_t fd, int readable, int writable) {
        if (watched_socket* s = find(self, fd)) s->want(readable != 0, writable != 0);
    }

    static constexpr ares_socket_functions sockets{&open, &close, &connect, &receive, &send};
};

namespace {

ares_addr_port_node node_of(const address& at) noexcept {
    ares_addr_port_node node{};
    const endpoint e = at.to_endpoint();
    if (at.family() == net::family::v4) {
        sockaddr_in s{};
        std::memcpy(&s, e.bytes, sizeof s);
        node.family = AF_INET;
        node.addr.addr4 = s.sin_addr;
    } else {
        sockaddr_in6 s{};
        std::memcpy(&s, e.bytes, sizeof s);
        node.family = AF_INET6;
        std::memcpy(&node.addr.addr6, &s.sin6_addr, sizeof node.addr.addr6);
    }
    node.udp_port = node.tcp_port = at.port();
    return node;
}

int type_number(record_kind kind) noexcept {
    switch (kind) {
        case record_kind::v4: return 1;
        case record_kind::v6: return 28;
        case record_kind::mail: break;
    }
    return 15;
}

}  // namespace

// Since 1.32 it takes its own guess for the time limit behind the third response on a channel.
const std::size_t name_server::most_questions = ARES_VERSION >= 0x012000 ? 3 : SIZE_MAX;

name_server::name_server(loop& owner, const address& at, duration timeout)
    : owner_(&owner), at_(at) {
    using std::chrono::milliseconds;
    ares_options o{};
    // Sets everything that c-ares would read from files; its search list and hosts file are not
    // used.
    char nothing[] = "/dev/null";
    char lookups[] = "b";
    o.flags = ARES_FLAG_NOCHECKRESP | ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
    const auto ms = std::chrono::ceil<milliseconds>(timeout).count();
    o.timeout = static_cast<int>(std::clamp<std::int64_t>(ms, 1, 3'600'000));
    o.tries = 1;
    o.ndots = 1;
    o.lookups = lookups;
    o.resolvconf_path = nothing;
    o.sock_state_cb = &callbacks::interest;
    o.sock_state_cb_data = this;
    int given = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS |
                ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS | ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB |
                ARES_OPT_NOROTATE;
    // Newer versions have a cache of their own, and shorten the time by what they have measured.
#ifdef ARES_OPT_MAXTIMEOUTMS
    o.maxtimeout = o.timeout;
    given |= ARES_OPT_MAXTIMEOUTMS;
#endif
#ifdef ARES_OPT_QUERY_CACHE
    o.qcache_max_ttl = 0;
    given |= ARES_OPT_QUERY_CACHE;
#endif
    ares_addr_port_node node = node_of(at);
    int status = ::ares_init_options(&channel_, &o, given);
    if (status == ARES_SUCCESS) {
        ::ares_set_socket_functions(channel_, &callbacks::sockets, this);
        status = ::ares_set_servers_ports(channel_, &node);
    }
    if (status == ARES_SUCCESS) return;
    if (channel_ != nullptr) ::ares_destroy(channel_);
    channel_ = nullptr;
}

name_server::~name_server() {
    owner_->disarm(*this);
    if (channel_ != nullptr) ::ares_destroy(channel_);
}

void name_server::send(question& q) noexcept {
    ++sent_;
    unsigned char* bytes = nullptr;
    int size = 0;
    const int type = type_number(q.wanted_);
    const auto id = static_cast<unsigned short>(owner_->random());
    int status = channel_ == nullptr ? ARES_ENOMEM : ARES_SUCCESS;
    if (status == ARES_SUCCESS) {
        status = ::ares_create_query(q.host_->c_str(), 1, type, id, 1, &bytes, &size, 0);
    }
    q.pending_ = status == ARES_SUCCESS ? new (std::nothrow) pending{this, &q} : nullptr;
    if (q.pending_ == nullptr) {
        if (status == ARES_SUCCESS) status = ARES_ENOMEM;
        ::ares_free_string(bytes);
        return q.responded(callbacks::failure_of(status), {});
    }
    ++wanted_;
    ::ares_send(channel_, bytes, size, &callbacks::responded, q.pending_);
    ::ares_free_string(bytes);
    rearm();
}

void name_server::give_up(question& q) noexcept {
    q.pending_->asker = nullptr;
    if (--wanted_ == 0) ::ares_cancel(channel_);
    rearm();
}

void name_server::process(int readable_fd, int writable_fd) noexcept {
    ::ares_process_fd(channel_, readable_fd, writable_fd);
    rearm();
}

void name_server::rearm() noexcept {
    timeval left{};
    if (wanted_ == 0 || ::ares_timeout(channel_, nullptr, &left) == nullptr) {
        owner_->disarm(*this);
        return;
    }
    const duration wait = std::chrono::seconds(left.tv_sec) +
                          std::chrono::microseconds(left.tv_usec) + std::chrono::milliseconds(1);
    owner_->arm(*this, coracle::detail::later(owner_->now(), wait));
}

void name_server::expired() noexcept {
    process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

void question::cancel() noexcept {
    if (linked()) return;
    mark_cancelled();
    server_->give_up(*this);
    pending_ = nullptr;
    owner().enqueue(*this);
}

void question::responded(std::error_code failure, std::string message) noexcept {
    failure_ = failure;
    message_ = std::move(message);
    pending_ = nullptr;
    owner().enqueue(*this);
}

std::expected<std::string, error> question::result() {
    if (failure_) return std::unexpected(error(failure_, name, phase::resolve));
    return std::move(message_);
}

}  // namespace coracle::net::detail
