#include "base/whole_number.hpp"

#include <coracle/net/handover.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>

namespace coracle::net {
namespace {

/// Sockets in one message; the kernel passes 253.
constexpr std::size_t in_one_message = 64;
constexpr std::size_t longest_name = 500;
constexpr std::size_t most_sockets = 65'536;
/// Each message begins with this line, and has the name of each of its sockets in a line.
constexpr std::string_view first_words = "coracle-handover 1 ";
constexpr std::string_view serves = "ready\n";
constexpr std::string_view path_is_free = "released\n";

error system_failure(const char* operation, const address& of) {
    return error(std::error_code(errno, std::generic_category()), operation).on(of.to_string());
}

error not_understood() {
    return error(errc::protocol_error, "take_over", phase::receive);
}

// ---- messages -----------------------------------------------------------------------------------

std::string message_of(std::span<const inherited_socket> some, std::size_t all) {
    std::string text = std::string(first_words) + std::to_string(all) + '\n';
    for (const inherited_socket& s : some) {
        std::string name = s.name.substr(0, longest_name);
        for (char& c : name) {
            if (c == '\n') c = ' ';
        }
        text += name + '\n';
    }
    return text;
}

/// Returns the part of `text` before the next line feed.
std::string_view take_line(std::string_view& text) noexcept {
    const std::size_t at = text.find('\n');
    const std::string_view line = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return line;
}

/// Adds the sockets of one message; gives how many there are in all.
std::expected<std::size_t, error> read_message(std::string_view text, std::vector<owned_fd> fds,
                                               std::vector<inherited_socket>& into) {
    if (!text.starts_with(first_words)) return std::unexpected(not_understood());
    std::string_view line = take_line(text);
    line.remove_prefix(first_words.size());
    const auto all = coracle::detail::whole_number<std::size_t>(line);
    if (!all || *all > most_sockets) return std::unexpected(not_understood());
    for (owned_fd& fd : fds) {
        endpoint at;
        socklen_t size = sizeof at.bytes;
        address local;
        if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(at.bytes), &size) == 0) {
            at.size = size;
            local = address::from(at);
        }
        into.push_back({std::move(fd), std::string(take_line(text)), local});
    }
    if (into.size() > *all || (fds.empty() && *all != 0)) {
        return std::unexpected(not_understood());
    }
    return *all;
}

// ---- the new process ----------------------------------------------------------------------------

/// Receives one message and its descriptors, blocking.
std::expected<std::pair<std::string, std::vector<owned_fd>>, error> receive_blocking(
    int fd, const address& at) {
    std::string text((longest_name + 1) * (in_one_message + 1), '\0');
    iovec part{text.data(), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * in_one_message)];
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    ssize_t n = -1;
    do {
        n = ::recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) errno = ETIMEDOUT;
    if (n < 0) return std::unexpected(system_failure("take_over", at));
    std::vector<owned_fd> fds;
    for (const cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr;
         c = CMSG_NXTHDR(&m, const_cast<cmsghdr*>(c))) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i != count; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(c) + i * sizeof number, sizeof number);
            fds.emplace_back(number);
        }
    }
    if ((m.msg_flags & MSG_CTRUNC) != 0) {
        // Without room for the descriptors in this process.
        return std::unexpected(
            error(std::errc::too_many_files_open, "take_over").on(at.to_string()));
    }
    if (n == 0 || (m.msg_flags & MSG_TRUNC) != 0) return std::unexpected(not_understood());
    text.resize(static_cast<std::size_t>(n));
    return std::pair(std::move(text), std::move(fds));
}

std::expected<int, error> process_behind(int fd, const address& at) {
    ucred of{};
    socklen_t size = sizeof of;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &of, &size) != 0) {
        return std::unexpected(system_failure("take_over", at));
    }
    if (of.uid == 0 || of.uid == ::geteuid()) return of.pid;
    return std::unexpected(error(std::errc::permission_denied, "take_over").on(at.to_string()));
}

bool nobody_is_there(int number) noexcept {
    return number == ENOENT || number == ECONNREFUSED;
}

}  // namespace

std::expected<takeover, error> take_over(const address& at, duration patience) {
    takeover taken;
    if (at.family() != family::unix_path) {
        return std::unexpected(
            error(std::errc::address_family_not_supported, "take_over").on(at.to_string()));
    }
    owned_fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!fd) return std::unexpected(system_failure("socket", at));
    constexpr std::chrono::microseconds least(1);  // zero would be no limit
    const auto microseconds =
        std::max(std::chrono::duration_cast<std::chrono::microseconds>(patience), least);
    const timeval limit{microseconds.count() / 1'000'000, microseconds.count() % 1'000'000};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const endpoint e = at.to_endpoint();
    int connected = 0;
    do {
        connected = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(e.bytes), e.size);
    } while (connected != 0 && errno == EINTR);
    if (connected != 0) {
        if (nobody_is_there(errno)) return taken;
        return std::unexpected(system_failure("take_over", at));
    }
    auto process = process_behind(fd.get(), at);
    if (!process) return std::unexpected(std::move(process).error());
    std::size_t all = 1;
    while (taken.sockets.size() < all) {
        auto message = receive_blocking(fd.get(), at);
        if (!message) return std::unexpected(std::move(message).error());
        auto count = read_message(message->first, std::move(message->second), taken.sockets);
        if (!count) return std::unexpected(std::move(count).error().on(at.to_string()));
        all = *count;
    }
    taken.process = *process;
    taken.connection_ = std::move(fd);
    return taken;
}

operation<void> takeover::ready() {
    const auto tell = [](takeover* self) -> task<std::expected<void, error>> {
        if (!self->connection_) co_return std::expected<void, error>();
        auto connection =
            unix_socket::adopt(*loop::current(), std::exchange(self->connection_, {}).release());
        if (!connection) co_return std::unexpected(std::move(connection).error());
        auto sent = co_await as_result(connection->send(serves));
        if (!sent) co_return std::unexpected(std::move(sent).error());
        const auto released = [&connection]() -> task<bool> {
            const unix_message m = co_await connection->receive();
            co_return m.bytes.view() == path_is_free;
        };
        auto gone = co_await as_result(with_timeout(default_patience, released));
        if (!gone) co_return std::unexpected(std::move(gone).error());
        if (!*gone) co_return std::unexpected(not_understood());
        co_return std::expected<void, error>();
    };
    return tell(this);
}

// ---- the old process ----------------------------------------------------------------------------

namespace {

class giver {
public:
    giver(const address& at, sockets_to_hand_over sockets, const handover_options& options)
        : at_(at), sockets_(std::move(sockets)), options_(options) {}

    task<std::expected<int, error>> run() {
        auto opened = unix_listener::open(*loop::current(), at_);
        if (!opened) co_return std::unexpected(std::move(opened).error());
        restrict_path();
        unix_listener waits = *std::move(opened);
        for (;;) {
            auto next = co_await as_result(waits.accept());
            if (!next) {
                if (coracle::detail::is_cancellation(next.error()))
                    co_return std::unexpected(next.error());
                note(next.error());
                // No descriptors, say: the loop does not spin while nothing gets better.
                co_await sleep_for(std::chrono::seconds(1));
                continue;
            }
            std::expected<int, error> served =
                std::unexpected(error(std::errc::not_enough_memory, "hand_over"));
            try {
                served = co_await as_result(give_to(*next));
            } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): as any failure
            }
            if (!served) {
                if (coracle::detail::is_cancellation(served.error()))
                    co_return std::unexpected(served.error());
                note(served.error());
                continue;
            }
            // The new process listens here from now on: its path must not be removed.
            waits.close();
            static_cast<void>(co_await as_result(next->send(path_is_free)));
            co_return *served;
        }
    }

private:
    static void note(const error& why) noexcept try {
        loop::current()->log().write(log_layer::net, log_level::warning,
                                     "hand-over failed: " + why.message());
    } catch (const std::bad_alloc&) {
        loop::current()->log().write(log_layer::net, log_level::warning, "hand-over failed");
    }

    /// Keeps other users from connecting from now on. Those who did before are refused for their
    /// credentials, and so are all of them where the mode cannot be set.
    void restrict_path() const {
        const std::string text = at_.to_string();
        constexpr std::string_view scheme = "unix:";
        if (text.starts_with(scheme) && !text.starts_with("unix:@")) {
            static_cast<void>(::chmod(text.c_str() + scheme.size(), S_IRUSR | S_IWUSR));
        }
    }

    /// Gives the process that is ready.
    task<int> give_to(unix_socket& to) {
        const auto credentials = to.peer_credentials();
        if (!credentials) throw_exception(credentials.error());
        if (credentials->user != 0 && credentials->user != ::geteuid()) {
            throw_exception(error(std::errc::permission_denied, "hand_over"));
        }
        auto sockets = sockets_();
        if (!sockets) throw_exception(std::move(sockets).error());
        const auto exchange = [&to, &sockets]() -> task<> {
            co_await send_all(to, *sockets);
            sockets->clear();
            const unix_message m = co_await to.receive();
            if (m.bytes.view() != serves) {
                throw_exception(error(errc::protocol_error, "hand_over"));
            }
        };
        co_await with_timeout(options_.patience, exchange);
        co_return credentials->process;
    }

    static task<> send_all(unix_socket& to, const std::vector<inherited_socket>& sockets) {
        const std::span<const inherited_socket> all(sockets);
        std::size_t first = 0;
        do {
            const auto some = all.subspan(first, std::min(in_one_message, all.size() - first));
            std::vector<int> numbers;
            for (const inherited_socket& s : some) numbers.push_back(s.descriptor.get());
            const std::string text = message_of(some, all.size());
            co_await to.send_with_descriptors(text, numbers);
            first += some.size();
        } while (first != all.size());
    }

    address at_;
    sockets_to_hand_over sockets_;
    handover_options options_;
};

}  // namespace

operation<int> hand_over(const address& at, sockets_to_hand_over sockets,
                         const handover_options& options) {
    const auto run = [](std::unique_ptr<giver> g) -> task<std::expected<int, error>> {
        co_return co_await g->run();
    };
    return run(std::make_unique<giver>(at, std::move(sockets), options));
}

}  // namespace coracle::net
