// Work that is shared out over all loops by a channel: channel [JOBS] [LOOPS]
//
// The first loop makes the jobs, all loops do them, and a plain thread prints what comes of them.

#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

using namespace coracle;

namespace {

task<> make_jobs(channel<int> jobs, int count) {
    for (int i = 1; i <= count; ++i) co_await jobs.send(i);  // waits while eight are unfinished
    jobs.close();
}

task<> do_jobs(channel<int> jobs, channel<std::string> results, unsigned worker) {
    while (auto job = co_await jobs.receive()) {
        co_await sleep_for(std::chrono::milliseconds(1));
        std::string line = "job " + std::to_string(*job) + ", loop " + std::to_string(worker);
        co_await results.send(std::move(line));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 20;
    runtime_options options;
    options.loops = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 2;

    const channel<int> jobs(8);
    channel<std::string> results(8);
    std::thread printer([results]() mutable {
        while (auto line = results.receive_blocking()) std::cout << *line << '\n';
    });

    runtime all(options);
    all.run([&](loop& here) -> task<> {
        const auto work = [&](task_group& group) -> task<> {
            if (here.index() == 0) group.spawn([&] { return make_jobs(jobs, count); });
            co_await do_jobs(jobs, results, here.index());
        };
        co_await with_task_group(work);
    });
    results.close();
    printer.join();
}
