#pragma once

#include <coracle/io/descriptor_stream.hpp>
#include <coracle/io/terminal.hpp>

#include <expected>
#include <memory>
#include <string>

namespace coracle::process {

/// A terminal of our making: programs run on its slave (`command::pty`), and its master is a stream
/// of what they write and of what is typed to them. Belongs to the loop on which it was opened.
///
/// The stream ends when the last program on the slave has ended. To close the stream hangs the
/// terminal up: its programs get SIGHUP, and read an end.
class pseudo_terminal {
public:
    /// Throws `exception` (errc::no_loop) on a thread without a loop.
    static std::expected<pseudo_terminal, error> open(io::window_size size = {80, 24});

    io::descriptor_stream& stream() noexcept { return *master_; }
    /// The slave's name, such as /dev/pts/3.
    const std::string& path() const noexcept { return path_; }

    std::expected<io::window_size, error> size() const { return terminal().size(); }
    /// Sets the size. Its programs get SIGWINCH.
    std::expected<void, error> resize(io::window_size s) const { return terminal().set_size(s); }
    /// The terminal, to set modes of the slave from here.
    io::terminal terminal() const noexcept { return io::terminal(master_->fd()); }
    /// A descriptor of the slave, without making it the controlling terminal. As long as one is
    /// open, the stream does not end.
    std::expected<owned_fd, error> open_slave() const;

private:
    pseudo_terminal(std::unique_ptr<io::descriptor_stream> master, std::string path) noexcept
        : master_(std::move(master)), path_(std::move(path)) {}

    std::unique_ptr<io::descriptor_stream> master_;
    std::string path_;
};

}  // namespace coracle::process
