#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/runtime/loop.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace coracle::process {
namespace {

error failure(const char* operation, int number) {
    error e(std::error_code(number, std::generic_category()), operation);
    return std::move(e.on("pseudo-terminal"));
}

}  // namespace

std::expected<pseudo_terminal, error> pseudo_terminal::open(io::window_size size) {
    loop& here = coracle::detail::loop_here("pseudo_terminal");
    owned_fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    if (!master) return std::unexpected(failure("posix_openpt", errno));
    if (::grantpt(master.get()) != 0) return std::unexpected(failure("grantpt", errno));
    if (::unlockpt(master.get()) != 0) return std::unexpected(failure("unlockpt", errno));
    char name[64];
    if (const int number = ::ptsname_r(master.get(), name, sizeof name); number != 0) {
        return std::unexpected(failure("ptsname_r", number));
    }
    std::string path(name);
    auto stream = io::descriptor_stream::adopt(here, std::move(master), path);
    if (!stream) return std::unexpected(std::move(stream).error());
    pseudo_terminal made(*std::move(stream), std::move(path));
    if (auto sized = made.resize(size); !sized) return std::unexpected(std::move(sized).error());
    return made;
}

/// Opens the slave from the master, so that it works where the file system with its name is not
/// mounted.
std::expected<owned_fd, error> pseudo_terminal::open_slave() const {
    constexpr int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
    owned_fd slave(::ioctl(master_->fd(), TIOCGPTPEER, flags));
    // Kernels before 4.13 have no such call. Any other failure says that the master is gone, and
    // its number may be that of another terminal by now.
    if (!slave && (errno == ENOTTY || errno == EINVAL)) {
        slave.reset(::open(path_.c_str(), flags));
    }
    if (!slave) return std::unexpected(failure("open", errno).on(path_));
    return slave;
}

}  // namespace coracle::process
