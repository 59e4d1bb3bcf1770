#include "io/descriptor_direction.hpp"
#include "runtime/backend/kernel_splice.hpp"
#include "runtime/without_sigpipe.hpp"

#include <coracle/io/descriptor_stream.hpp>
#include <coracle/runtime/loop.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace coracle::io {
namespace {

constexpr std::size_t largest_gather = 64;

error failure(const char* operation, std::string_view subject) {
    error e(std::error_code(errno, std::generic_category()), operation);
    return std::move(e.on(subject));
}

bool is_master(int fd) noexcept {
    unsigned number = 0;
    return ::ioctl(fd, TIOCGPTN, &number) == 0;
}

/// Opens the file of `fd` again, with its own flags. Returns a negative number if that fails, or
/// would open something else (the master of another pseudo-terminal).
int open_anew(int fd, const struct stat& s) {
    const bool fit = S_ISFIFO(s.st_mode) || (::isatty(fd) == 1 && !is_master(fd));
    const int flags = ::fcntl(fd, F_GETFL);
    if (!fit || flags < 0) return -1;
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return ::open(path.c_str(),
                  (flags & (O_ACCMODE | O_APPEND)) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/// Returns true for a pipe without a name: it reports its end to a waiter. A FIFO that is opened
/// when its writers are gone already does not, and is polled.
bool tells_its_end(int fd, const struct stat& s) noexcept {
    struct statfs system{};
    return S_ISFIFO(s.st_mode) && ::fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC;
}

bool is_file(const struct stat& s) noexcept {
    return S_ISREG(s.st_mode) || S_ISBLK(s.st_mode) || S_ISDIR(s.st_mode);
}

}  // namespace

descriptor_stream::descriptor_stream(loop& owner, std::string subject)
    : owner_(&owner), subject_(std::move(subject)),
      input_(std::make_unique<direction>(*this, opcode::input_ready)),
      output_(std::make_unique<direction>(*this, opcode::output_ready)) {}

descriptor_stream::~descriptor_stream() {
    close();
}

std::expected<std::unique_ptr<descriptor_stream>, error> descriptor_stream::make(
    loop& owner, owned_fd fd, call_mode how, std::string subject) {
    if (subject.empty()) subject = "descriptor " + std::to_string(fd.get());
    struct stat s{};
    if (::fstat(fd.get(), &s) != 0) return std::unexpected(failure("fstat", subject));
    std::unique_ptr<descriptor_stream> made(new descriptor_stream(owner, std::move(subject)));
    made->how_ = is_file(s) ? call_mode::on_pool : how;
    made->short_means_empty_ = tells_its_end(fd.get(), s);
    made->can_splice_ = S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode);
    made->is_master_ = S_ISCHR(s.st_mode) && io::is_master(fd.get());
    if (made->has_loop()) {
        auto attached = owner.backend().attach(made->descriptor_, fd.get());
        if (attached) {
            static_cast<void>(fd.release());
            return made;
        }
        if (attached.error() != std::errc::operation_not_permitted) {
            return std::unexpected(std::move(attached).error().on(made->subject_));
        }
        // epoll's error for files that cannot be polled, such as /dev/null.
        made->how_ = call_mode::instant;
    }
    made->descriptor_.fd = fd.release();
    return made;
}

std::expected<std::unique_ptr<descriptor_stream>, error> descriptor_stream::adopt(
    loop& owner, owned_fd fd, std::string subject) {
    const int flags = ::fcntl(fd.get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
        return std::unexpected(failure("fcntl", subject));
    }
    return make(owner, std::move(fd), call_mode::nonblocking, std::move(subject));
}

std::expected<std::unique_ptr<descriptor_stream>, error> descriptor_stream::share(
    loop& owner, int fd, std::string subject) {
    struct stat s{};
    if (::fstat(fd, &s) != 0) return std::unexpected(failure("fstat", subject));
    owned_fd own(open_anew(fd, s));
    if (own) return make(owner, std::move(own), call_mode::nonblocking, std::move(subject));
    own.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own) return std::unexpected(failure("fcntl", subject));
    return make(owner, std::move(own), call_mode::polled, std::move(subject));
}

void descriptor_stream::shutdown_output() noexcept {
    if (!open()) return;
    const int flags = ::fcntl(descriptor_.fd, F_GETFL);
    if ((flags & O_ACCMODE) == O_WRONLY)
        close();
    else
        ::shutdown(descriptor_.fd, SHUT_WR);  // standard output may be a socket
}

void descriptor_stream::close(bool) noexcept {
    if (!open()) return;
    if (has_loop())
        owner_->backend().close(descriptor_);
    else
        close_descriptor(std::exchange(descriptor_.fd, -1));
}

bool descriptor_stream::has_input() noexcept {
    pollfd p{descriptor_.fd, POLLIN, 0};
    return !open() || ::poll(&p, 1, 0) == 1;
}

bool descriptor_stream::watch_hangup(hangup_watch* w) noexcept {
    return !open() || !has_loop() || owner_->backend().watch_hangup(descriptor_, w);
}

/// Returns true if a call on a blocking descriptor would block now.
bool descriptor_stream::would_block(short events) const noexcept {
    if (how_ != call_mode::polled) return false;
    pollfd p{descriptor_.fd, events, 0};
    // Where a signal has come nothing is known.
    return ::poll(&p, 1, 0) <= 0;
}

std::int64_t descriptor_stream::read_into(receive_operation& op) noexcept {
    if (would_block(POLLIN)) return -EAGAIN;
    const bool borrowed = !op.into;
    if (borrowed && !op.into.try_obtain(op.capacity)) return -ENOMEM;
    const std::size_t room = op.into.spare_size();
    ssize_t n = 0;
    do {
        n = ::read(descriptor_.fd, op.into.spare(), room);
    } while (n < 0 && errno == EINTR);
    const int number = errno;
    if (n > 0) {
        op.into.commit(static_cast<std::size_t>(n));
        drained_ =
            short_means_empty_ && has_loop() && !hung_up_ && static_cast<std::size_t>(n) < room;
        return n;
    }
    if (borrowed) op.into.release();
    return n == 0 || (number == EIO && is_master_) ? 0 : -number;
}

std::int64_t descriptor_stream::write_some(std::span<const slice> pieces) noexcept {
    if (would_block(POLLOUT)) return -EAGAIN;
    // When poll reports room, a write of this size does not block.
    const iovec first{const_cast<char*>(pieces[0].data),
                      std::min<std::size_t>(pieces[0].size, PIPE_BUF)};
    for (;;) {
        const ssize_t n =
            how_ == call_mode::polled
                ? ::write(descriptor_.fd, first.iov_base, first.iov_len)
                : ::writev(descriptor_.fd, reinterpret_cast<const iovec*>(pieces.data()),
                           static_cast<int>(std::min(pieces.size(), largest_gather)));
        if (n >= 0) return n;
        if (errno != EINTR) return -errno;
    }
}

std::int64_t descriptor_stream::write_all(send_operation& op) noexcept {
    const coracle::detail::without_sigpipe quiet(can_splice_);
    while (!op.slices.empty()) {
        if (op.slices[0].size == 0) {
            op.slices = op.slices.subspan(1);
            continue;
        }
        const std::int64_t n = write_some(op.slices);
        if (n == -EPIPE) quiet.take_signal();
        if (n < 0) return n;
        op.sent += n;
        auto left = static_cast<std::size_t>(n);
        while (!op.slices.empty() && left >= op.slices[0].size) {
            left -= op.slices[0].size;
            op.slices = op.slices.subspan(1);
        }
        if (left != 0) {
            op.slices[0].data += left;
            op.slices[0].size -= left;
        }
    }
    return op.sent;
}

/// sendfile to a pipe moves pages; for targets that it does not support (a terminal, an appended
/// file), copies.
std::int64_t descriptor_stream::send_from_file(send_file_operation& op) noexcept {
    constexpr std::int64_t piece = 64 * 1024;
    const coracle::detail::without_sigpipe quiet(can_splice_);
    while (op.file_size != 0) {
        if (would_block(POLLOUT)) return -EAGAIN;
        const std::int64_t most = how_ == call_mode::polled ? PIPE_BUF : piece;
        const auto size = static_cast<std::size_t>(std::min(op.file_size, most));
        off_t offset = op.file_offset;
        std::int64_t n = ::sendfile(descriptor_.fd, op.file, &offset, size);
        if (n < 0 && errno == EINVAL) {
            char bytes[PIPE_BUF];
            n = ::pread(op.file, bytes, std::min(size, sizeof bytes), op.file_offset);
            if (n > 0) n = ::write(descriptor_.fd, bytes, static_cast<std::size_t>(n));
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EPIPE) {
            quiet.take_signal();
            return -EPIPE;
        }
        if (n < 0) return -errno;
        if (n == 0) return -ENODATA;  // the file became shorter while it was being sent
        op.sent += n;
        op.file_offset += n;
        op.file_size -= n;
    }
    return op.sent;
}

std::int64_t descriptor_stream::try_send(std::string_view bytes) noexcept {
    if (!open()) return -EBADF;
    if (how_ == call_mode::on_pool || output_->is_busy()) return -EAGAIN;
    const slice all(bytes);
    const coracle::detail::without_sigpipe quiet(can_splice_);
    const std::int64_t n = write_some({&all, 1});
    if (n == -EPIPE) quiet.take_signal();
    return n;
}

/// Makes the calls of `op`. Returns false if it would have to wait.
bool descriptor_stream::attempt(io_operation& op) noexcept {
    switch (op.code) {
        case opcode::receive: op.result = read_into(static_cast<receive_operation&>(op)); break;
        case opcode::send: op.result = write_all(static_cast<send_operation&>(op)); break;
        case opcode::send_file:
            op.result = send_from_file(static_cast<send_file_operation&>(op));
            break;
        case opcode::splice_in:
            op.result =
                coracle::detail::splice_from(descriptor_.fd, static_cast<splice_operation&>(op));
            break;
        case opcode::splice_out:
            op.result =
                coracle::detail::splice_all_to(descriptor_.fd, static_cast<splice_operation&>(op));
            break;
        default: op.result = -ENOTSUP;
    }
    return op.result != -EAGAIN || !has_loop();
}

bool descriptor_stream::is_input(const io_operation& op) noexcept {
    return op.code == opcode::receive || op.code == opcode::splice_in;
}

bool descriptor_stream::start(io_operation& op) noexcept {
    if (!open()) {
        op.result = -EBADF;
        return true;
    }
    direction& d = is_input(op) ? *input_ : *output_;
    if (d.is_busy()) {
        op.result = -EBUSY;
        return true;
    }
    if (how_ == call_mode::on_pool) return d.run_on_pool(op);
    // Cleared when there is input to read, so that a cancelled wait begins again.
    const bool in_vain = is_input(op) && drained_;
    return (!in_vain && attempt(op)) || d.wait_for(op);
}

void descriptor_stream::cancel(io_operation& op) noexcept {
    (is_input(op) ? *input_ : *output_).cancel(op);
}

}  // namespace coracle::io
