#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace coracle::testing {

/// While it lives, nothing can be opened (EMFILE).
class no_more_descriptors {
public:
    no_more_descriptors() noexcept {
        const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(lowest);
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit none = before_;
        none.rlim_cur = static_cast<rlim_t>(lowest);
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    no_more_descriptors(const no_more_descriptors&) = delete;
    no_more_descriptors& operator=(const no_more_descriptors&) = delete;
    ~no_more_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

}  // namespace coracle::testing
