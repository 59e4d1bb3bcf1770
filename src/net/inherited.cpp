#include "base/whole_number.hpp"

#include <coracle/net/inherited.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace coracle::net {
namespace {

constexpr int first_passed = 3;  // SD_LISTEN_FDS_START
constexpr int most_passed = 4096;

/// The names have no colon: it stands between them.
std::string take_name(std::string_view& names) {
    const std::size_t at = names.find(':');
    std::string one(names.substr(0, at));
    names = at == std::string_view::npos ? std::string_view() : names.substr(at + 1);
    return one;
}

address address_of(int fd) {
    endpoint e;
    socklen_t size = sizeof e.bytes;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(e.bytes), &size) != 0) return {};
    e.size = size;
    return address::from(e);
}

void forget_variables() noexcept {
    for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"}) {
        ::unsetenv(name);
    }
}

error unreadable(const char* variable) {
    return error(std::errc::invalid_argument, "take_inherited_sockets").on(variable);
}

}  // namespace

std::expected<std::vector<inherited_socket>, error> take_inherited_sockets() {
    const char* const process = std::getenv("LISTEN_PID");
    const char* const count = std::getenv("LISTEN_FDS");
    if (process == nullptr || count == nullptr) return {};
    const auto whose = coracle::detail::whole_number<int>(process);
    if (!whose) return std::unexpected(unreadable("LISTEN_PID"));
    if (*whose != ::getpid()) return {};
    const auto size = coracle::detail::whole_number<int>(count);
    if (!size || *size > most_passed) return std::unexpected(unreadable("LISTEN_FDS"));
    const char* const listed = std::getenv("LISTEN_FDNAMES");
    const std::string all_names = listed != nullptr ? listed : "";
    std::string_view names = all_names;
    for (int fd = first_passed; fd != first_passed + *size; ++fd) {
        if (::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) continue;
        return std::unexpected(
            error(std::error_code(errno, std::generic_category()), "take_inherited_sockets")
                .on("LISTEN_FDS: descriptor " + std::to_string(fd)));
    }
    std::vector<inherited_socket> all;
    for (int fd = first_passed; fd != first_passed + *size; ++fd) {
        all.push_back({owned_fd(fd), take_name(names), address_of(fd)});
    }
    forget_variables();
    return all;
}

}  // namespace coracle::net
