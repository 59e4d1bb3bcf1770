#pragma once

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::io {

/// A byte stream over a descriptor that is no socket of ours: a pipe, a FIFO, a terminal or either
/// end of a pseudo-terminal, a character device, a regular file as standard input. What can be
/// waited for is read and written without blocking; regular files and block devices are read and
/// written on the pool of `offload`, where their descriptor stands. Belongs to one loop, like every
/// `net::byte_stream`; needs the real world, not a simulation.
///
/// A descriptor may have one direction only: the other fails with EBADF. A pipe whose readers are
/// gone gives EPIPE, and never the signal SIGPIPE. The end of a pseudo-terminal's sessions, of
/// which its master hears as EIO, is the end of the stream. Errors name `subject()`.
class descriptor_stream final : public net::byte_stream {
public:
    /// Takes over `fd`, and sets O_NONBLOCK on it, which everybody sees who shares its open file.
    /// `subject` is what errors call it.
    static std::expected<std::unique_ptr<descriptor_stream>, error> adopt(loop& owner, owned_fd fd,
                                                                          std::string subject = {});

    /// A stream over what `fd` is open on, which stays the caller's and keeps its flags: for
    /// descriptors that other programs share. Pipes, FIFOs and terminals are opened anew where the
    /// system allows (/proc); else each read and write is preceded by a poll(2), at most PIPE_BUF
    /// bytes are written at a time, and one that another program overtakes may block.
    static std::expected<std::unique_ptr<descriptor_stream>, error> share(loop& owner, int fd,
                                                                          std::string subject = {});

    ~descriptor_stream() override;

    /// The number, for terminal settings and the like; negative once it is closed.
    int fd() const noexcept { return descriptor_.fd; }
    bool open() const noexcept { return descriptor_.open(); }

    /// Closes a write-only descriptor, which is how a pipe ends. Does nothing on a terminal.
    void shutdown_output() noexcept override;
    void close(bool reset = false) noexcept override;
    std::int64_t try_send(std::string_view bytes) noexcept override;
    bool has_input() noexcept override;
    bool watch_hangup(hangup_watch* w) noexcept override;
    bool can_splice() const noexcept override {
        return can_splice_ && how_ == call_mode::nonblocking && open();
    }
    /// An address of `family::none`: there is no peer.
    const net::address& peer() const noexcept override { return nobody_; }
    std::string subject() const override { return subject_; }
    loop& owner() const noexcept override { return *owner_; }
    bool start(io_operation& op) noexcept override;
    void cancel(io_operation& op) noexcept override;

    /// Makes the first read wait until there is something to read: a FIFO without a writer yet
    /// would give an end. Has no effect on a file or a device that never waits, such as /dev/null.
    void wait_before_reading() noexcept { drained_ = has_loop(); }

private:
    /// The way in which system calls on the descriptor avoid blocking.
    enum class call_mode : std::uint8_t {
        nonblocking,  ///< the descriptor says EAGAIN
        polled,       ///< it would block: asked first, with poll(2)
        instant,      ///< a device that never blocks, and cannot be polled
        on_pool,      ///< a file
    };
    class direction;
    struct file_job;

    descriptor_stream(loop& owner, std::string subject);
    static std::expected<std::unique_ptr<descriptor_stream>, error> make(loop& owner, owned_fd fd,
                                                                         call_mode how,
                                                                         std::string subject);

    bool has_loop() const noexcept {
        return how_ == call_mode::nonblocking || how_ == call_mode::polled;
    }
    bool would_block(short events) const noexcept;
    static bool is_input(const io_operation& op) noexcept;
    bool attempt(io_operation& op) noexcept;
    std::int64_t read_into(receive_operation& op) noexcept;
    std::int64_t write_all(send_operation& op) noexcept;
    std::int64_t write_some(std::span<const slice> pieces) noexcept;
    std::int64_t send_from_file(send_file_operation& op) noexcept;

    loop* owner_;
    descriptor descriptor_;
    std::string subject_;
    net::address nobody_;
    std::unique_ptr<direction> input_;
    std::unique_ptr<direction> output_;
    call_mode how_ = call_mode::nonblocking;
    bool short_means_empty_ = false;  ///< of a pipe: fewer bytes than there was room for were all
    bool can_splice_ = false;         ///< a pipe or a socket
    bool is_master_ = false;          ///< of a pseudo-terminal
    bool drained_ = false;            ///< a read would be in vain
    bool hung_up_ = false;            ///< an end may follow the bytes
};

}  // namespace coracle::io
