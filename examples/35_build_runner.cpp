// Runs commands side by side, and stops the rest when one of them fails: build_runner JOBS
// COMMAND...
//
//   build_runner 4 'cc -c a.c' 'cc -c b.c' 'cc -c c.c'
//
// The output of a command is shown when it fails; Ctrl-C ends them all.

#include <coracle/process/command.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>

using namespace coracle;

namespace {

task<> build(std::string text) {
    process::command sh = process::shell(text);
    // A group of its own: what the command has started ends with it.
    sh.error(process::redirect::output()).process_group();
    const process::captured done = co_await sh.capture();
    if (!done.status.success()) {
        std::cerr << done.output;
        throw std::runtime_error(text + ": " + done.status.to_string());
    }
    std::cout << "done: " << text << std::endl;
}

task<bool> build_all(std::size_t jobs, std::span<char*> commands) {
    const auto start = [&](task_group& group) -> task<> {
        for (const char* text : commands) {
            const auto one = [text] { return build(text); };
            co_await group.spawn_when_free(one);
        }
    };
    try {
        co_await with_task_group(jobs, start);  // the first that throws cancels the others
    } catch (const std::exception& e) {
        std::cerr << "failed: " << e.what() << '\n';
        co_return false;
    }
    co_return true;
}

task<bool> interrupted(signal_set& signals) {
    co_await signals.next();
    co_return false;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::cerr << "usage: build_runner JOBS COMMAND...\n";
        return 2;
    }
    signal_set signals{SIGINT, SIGTERM};
    const auto jobs = static_cast<std::size_t>(std::max(1, std::atoi(argv[1])));
    const std::span<char*> commands(argv + 2, static_cast<std::size_t>(argc - 2));
    return block_on([&]() -> task<int> {
        const auto first = co_await when_any(build_all(jobs, commands), interrupted(signals));
        co_return first.value ? 0 : 1;
    });
}
