// Runs a command and says what it cost, as its last line on standard error:
//
//   run_accounted COMMAND [ARGUMENT...]      "spent wall W user U system S peak_kib P", in us
//
// It is small, and linked statically, for a process inherits the peak of the memory of the one that
// executed it: measured from a large one, as Python is, every small program would look as large.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace {

long long microseconds_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

long long microseconds(const timeval& t) {
    return t.tv_sec * 1'000'000LL + t.tv_usec;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: run_accounted COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    const long long begin = microseconds_now();
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        std::perror(argv[1]);
        _exit(127);
    }
    int status = 0;
    rusage used{};
    if (child < 0 || wait4(child, &status, 0, &used) != child) {
        std::perror("run_accounted");
        return 1;
    }
    std::fprintf(stderr, "spent wall %lld user %lld system %lld peak_kib %ld\n",
                 microseconds_now() - begin, microseconds(used.ru_utime),
                 microseconds(used.ru_stime), used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
