#pragma once

#include <cstddef>
#include <cstdio>
#include <ctime>

namespace bench {

// Measures the CPU time of this process since this was made.
class cpu_time {
public:
    // Prints "bytes N cpu_ns N".
    void print(std::size_t bytes) const {
        std::printf("bytes %zu cpu_ns %lld\n", bytes, now() - begin_);
    }

private:
    static long long now() {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<long long>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
    }

    long long begin_ = now();
};

}  // namespace bench
