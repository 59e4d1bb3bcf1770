#pragma once

#include <coracle/process/child.hpp>
#include <coracle/process/exit_status.hpp>
#include <coracle/process/redirect.hpp>
#include <coracle/runtime/operation.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::process {

class pseudo_terminal;

namespace detail {
struct plan;
}

/// Limits of `command::capture`.
struct capture_limits {
    /// Bytes of standard output. Default 16 MiB.
    std::size_t output = 16 * 1024 * 1024;
    /// Bytes of standard error. Default 16 MiB.
    std::size_t error = 16 * 1024 * 1024;
    /// The longest time that processes left running may keep the output open. Default 5 s.
    duration linger = std::chrono::seconds(5);
};

/// The result of `command::capture`.
struct captured {
    exit_status status;
    std::string output;
    std::string error;
    /// Something else still held the output `capture_limits::linger` after the end: it may be cut.
    bool left_open = false;
};

/// A program to start, with everything around it:
///
///     auto built = co_await process::command("cc").args("-c", file).directory(path).capture();
///
/// `start`, `run` and `capture` move the settings out of it: a command starts once. The program is
/// started by a thread of the pool of `offload`, so that a slow disk does not hold up the loop.
///
/// In the process all signals have their default actions (but SIGHUP stays ignored where we ignore
/// it) and none is blocked; descriptors other than 0, 1, 2 and those of `descriptor` are closed,
/// however they were opened. Needs Linux 5.4; does not work in a simulation.
class command {
public:
    /// A name without a slash is looked for in PATH, as the process will have it; one with a slash
    /// is taken from the directory in which the process starts.
    explicit command(std::string program);
    command(command&&) noexcept;
    command& operator=(command&&) noexcept;
    ~command();

    command& arg(std::string argument);
    template <std::convertible_to<std::string_view>... Argument>
    command& args(const Argument&... all) {
        (arg(std::string(std::string_view(all))), ...);
        return *this;
    }
    command& args(std::span<const std::string> all);
    /// Sets the program's name for itself (argv[0]). Default: the program.
    command& name(std::string name);

    /// Sets a variable of its environment, which starts as ours is when it is started.
    command& env(std::string name, std::string value);
    command& unset_env(std::string name);
    /// Clears the environment; variables that were set stay.
    command& clear_env();
    /// Sets the working directory of the process. Default: our own current directory.
    command& directory(std::string path);

    /// Default: inherited.
    command& input(redirect r);
    command& output(redirect r);
    command& error(redirect r);
    /// `fd` as descriptor `number` of the process, 3 or more.
    command& descriptor(int number, owned_fd fd);
    /// Runs it on a terminal, in a session of its own: the slave is its controlling terminal, and
    /// its standard streams lead there unless they are redirected; `capture` takes output and error
    /// all the same.
    command& pty(const pseudo_terminal& terminal);
    /// Starts it in a session of its own (setsid): no terminal, and a group of its own, which ends
    /// as that of `process_group` does.
    command& new_session();
    /// Starts it in a process group of its own: Ctrl-C at our terminal does not reach it, and it is
    /// ended together with the processes that it has started. `run`, `capture` and
    /// `child::wait_or_end` also kill the rest of its group when it ends by itself.
    command& process_group();
    /// Sets the time that the process has to end after SIGTERM. Default `default_grace`.
    command& grace(duration d);

    /// Starts it; completes when the program runs. Fails with what the system says, naming the
    /// program or what else it was about: ENOENT, EACCES, ENOEXEC (a script without "#!"), E2BIG;
    /// EINVAL for zero bytes, variables without a name, and redirections that lead nowhere; ENOTSUP
    /// in a simulation. Resumes from the loop. Cancelling it ends what has been started already, as
    /// that of `run` does.
    operation<child> start();
    /// Starts it and waits for its end. Redirections to pipes make no sense here (EINVAL).
    /// Cancelling it ends the process: SIGTERM, after `grace` SIGKILL, and then it is reaped.
    operation<exit_status> run();
    /// Runs the program as `run` does, and gives the bytes that it wrote to standard output and
    /// standard error, where those are not redirected. Beyond the limits the process is ended, and
    /// it fails with `errc::limit_exceeded`, naming the limit. The default input is `null`; a pipe
    /// fails with EINVAL, as nobody could write to it.
    operation<captured> capture(capture_limits limits = {});

private:
    detail::plan& plan() noexcept;
    std::unique_ptr<detail::plan> taken() noexcept;
    std::unique_ptr<detail::plan> plan_;
};

/// `sh -c text`. Never of what others have written: pass that as arguments ("$1") or variables.
command shell(std::string text);

}  // namespace coracle::process
