#include "process/child_state.hpp"

#include <coracle/process/command.hpp>
#include <coracle/process/pseudo_terminal.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

namespace coracle::process {
namespace detail {
namespace {

constexpr const char* stream_names[] = {"standard input of ", "standard output of ",
                                        "standard error of "};

std::expected<child, error> with_streams(launched l, const std::string& program) {
    auto state = std::make_unique<child_state>(std::move(l.process), program);
    for (std::size_t i = 0; i != 3; ++i) {
        if (!l.ends[i]) continue;
        auto stream = io::descriptor_stream::adopt(*loop::current(), std::move(l.ends[i]),
                                                   stream_names[i] + program);
        if (!stream) return std::unexpected(std::move(stream).error());
        state->streams[i] = *std::move(stream);
    }
    return child_state::make(std::move(state));
}

/// Waits for a FIFO here, so that no thread of the pool is blocked.
task<std::expected<void, error>> launch_on_pool(plan& p, std::optional<launch_result>& got) {
    constexpr duration longest = std::chrono::milliseconds(20);
    duration pause = std::chrono::milliseconds(1);
    standard_streams streams;
    auto launches = [&] { got.emplace(launch(p, streams)); };
    for (;;) {
        auto done = co_await as_result(offload(launches));
        if (!done) co_return std::unexpected(std::move(done).error());
        if (!*got || **got) co_return std::expected<void, error>();
        auto waited = co_await as_result(sleep_for(pause));
        if (!waited) co_return std::unexpected(std::move(waited).error());
        pause = std::min(2 * pause, longest);
    }
}

}  // namespace

task<std::expected<child, error>> start(std::unique_ptr<plan> p) {
    if (auto fit = check(*p); !fit) co_return std::unexpected(std::move(fit).error());
    if (!loop::current()->backend().is_of_the_system()) {
        error e(std::errc::operation_not_supported, "command");
        co_return std::unexpected(std::move(e.on(p->program + " (this is a simulation)")));
    }
    p->environment = environment_of(*p);
    std::optional<launch_result> got;
    auto done = co_await as_result(launch_on_pool(*p, got));
    if (got && !*got) co_return std::unexpected(std::move(*got).error());
    // Our copies of its descriptors are closed now, however long the operation lives.
    const duration grace = p->grace;
    const std::string program = std::move(p->program);
    p.reset();
    const bool runs = got && **got;
    const bool cancelled = !done || !*done;
    auto started = std::expected<child, error>(std::unexpected(error()));
    if (runs) started = with_streams(std::move(***got), program);
    if (!cancelled || (runs && !started)) co_return std::move(started);
    // After it had begun.
    if (runs) co_await end_shielded(child_state::of(*started), grace);
    if (!done) co_return std::unexpected(std::move(done).error());
    co_return std::unexpected(std::move(*done).error());
}

task<end_result> run(std::unique_ptr<plan> p) {
    for (const redirect& r : p->streams) {
        if (r.what() != redirect::kind::pipe) continue;
        error e(std::errc::invalid_argument, "command::run");
        co_return std::unexpected(
            std::move(e.on(p->program + " (a pipe without another end; start it instead)")));
    }
    const duration grace = p->grace;
    auto started = co_await as_result(start(std::move(p)));
    if (!started) co_return std::unexpected(std::move(started).error());
    if (!*started) co_return std::unexpected(std::move(*started).error());
    co_return co_await wait_or_end(child_state::of(**started), grace);
}

}  // namespace detail

command::command(std::string program) : plan_(std::make_unique<detail::plan>()) {
    plan().arguments.push_back(program);
    plan().program = std::move(program);
}
command::command(command&&) noexcept = default;
command& command::operator=(command&&) noexcept = default;
command::~command() = default;

detail::plan& command::plan() noexcept {
    assert(plan_ != nullptr && "a command starts once");
    return *plan_;
}

std::unique_ptr<detail::plan> command::taken() noexcept {
    assert(plan_ != nullptr && "a command starts once");
    return std::move(plan_);
}

command& command::arg(std::string argument) {
    plan().arguments.push_back(std::move(argument));
    return *this;
}

command& command::args(std::span<const std::string> all) {
    plan().arguments.insert(plan().arguments.end(), all.begin(), all.end());
    return *this;
}

command& command::name(std::string name) {
    plan().arguments[0] = std::move(name);
    return *this;
}

command& command::env(std::string name, std::string value) {
    plan().variables.push_back({std::move(name), std::move(value)});
    return *this;
}

command& command::unset_env(std::string name) {
    plan().variables.push_back({std::move(name), std::nullopt});
    return *this;
}

command& command::clear_env() {
    plan().clear_environment = true;
    return *this;
}

command& command::directory(std::string path) {
    plan().directory = std::move(path);
    return *this;
}

command& command::input(redirect r) {
    plan().streams[0] = std::move(r);
    return *this;
}

command& command::output(redirect r) {
    plan().streams[1] = std::move(r);
    return *this;
}

command& command::error(redirect r) {
    plan().streams[2] = std::move(r);
    return *this;
}

command& command::descriptor(int number, owned_fd fd) {
    plan().descriptors.push_back({number, std::move(fd)});
    return *this;
}

command& command::pty(const pseudo_terminal& terminal) {
    auto slave = terminal.open_slave();
    if (slave)
        plan().terminal = *std::move(slave);
    else
        plan().failure = std::move(slave).error();
    return new_session();
}

command& command::new_session() {
    plan().new_session = plan().own_group = true;
    return *this;
}

command& command::process_group() {
    plan().own_group = true;
    return *this;
}

command& command::grace(duration d) {
    plan().grace = d;
    return *this;
}

operation<child> command::start() {
    return detail::start(taken());
}

operation<exit_status> command::run() {
    return detail::run(taken());
}

operation<captured> command::capture(capture_limits limits) {
    return detail::capture(taken(), limits);
}

command shell(std::string text) {
    command sh("/bin/sh");
    sh.name("sh").arg("-c").arg(std::move(text));
    return sh;
}

}  // namespace coracle::process
