#include "runtime/backend/uring_probe.hpp"

#include "base/ascii.hpp"
#include "base/small_file.hpp"
#include "runtime/backend/system_backend.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::detail {
namespace {

constexpr unsigned submissions = 512;
constexpr unsigned completions = 4096;

/// Returns 0 when io_uring is open to all, 1 to some, 2 to none; -1 when this kernel does not say.
int disabled_by_sysctl() noexcept {
    const small_file file("/proc/sys/kernel/io_uring_disabled");
    const std::string_view text = file.text();
    return !text.empty() && is_digit(text[0]) ? text[0] - '0' : -1;
}

std::string reason_for(int number) {
    switch (number) {
        case ENOSYS: return "this kernel has no io_uring, or a seccomp filter hides it";
        case EPERM:
        case EACCES: {
            const int level = disabled_by_sysctl();
            if (level > 0) {
                return "the sysctl kernel.io_uring_disabled is " + std::to_string(level) +
                       (level == 1 ? ": only its group may use io_uring"
                                   : ": no process may use it");
            }
            return "a seccomp filter or a security module forbids io_uring";
        }
        case ENOMEM: {
            rlimit locked{};
            ::getrlimit(RLIMIT_MEMLOCK, &locked);
            return "no memory for its rings; the limit of locked memory (ulimit -l) is " +
                   (locked.rlim_cur == RLIM_INFINITY
                        ? std::string("unlimited")
                        : std::to_string(locked.rlim_cur / 1024) + " KiB");
        }
        case EMFILE:
        case ENFILE: return "no descriptor is left for it";
        default: return "io_uring does not work here";
    }
}

std::unexpected<error> refuse(int number, const char* operation, const std::string& why) {
    error e = system_error(number, operation);
    return std::unexpected(std::move(e.on(why)));
}

int open_with(io_uring& ring, unsigned flags) noexcept {
    io_uring_params p{};
    p.flags = flags | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL;
    p.cq_entries = completions;
    return ::io_uring_queue_init_params(submissions, &ring, &p);
}

struct probe_deleter {
    void operator()(io_uring_probe* p) const noexcept { ::io_uring_free_probe(p); }
};

}  // namespace

std::expected<unsigned, error> open_ring(io_uring& ring, unsigned allowed) noexcept {
    unsigned used = allowed & registered_ring;
    int result = -EINVAL;
    if ((allowed & deferred_work) != 0) {
        result = open_with(ring, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                                     IORING_SETUP_R_DISABLED);
        if (result == 0) used |= deferred_work;
    }
    // Unknown flags fail with EINVAL.
    if (result == -EINVAL && (allowed & cooperative_work) != 0) {
        result = open_with(ring, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
        if (result == 0) used |= cooperative_work;
    }
    if (result == -EINVAL) result = open_with(ring, 0);
    if (result < 0) return refuse(-result, "io_uring_setup", reason_for(-result));

    const std::unique_ptr<io_uring_probe, probe_deleter> probe(::io_uring_get_probe_ring(&ring));
    const auto knows = [&](int operation) {
        return probe != nullptr && ::io_uring_opcode_supported(probe.get(), operation) != 0;
    };
    // No feature flag identifies 5.19, which brought the rings of buffers and this operation.
    if (!knows(IORING_OP_SOCKET) || (ring.features & IORING_FEAT_EXT_ARG) == 0) {
        ::io_uring_queue_exit(&ring);
        return refuse(ENOSYS, "io_uring_setup", "io_uring of a kernel before 5.19 lacks too much");
    }
    // Nor does any identify multishot receives; this operation came with them.
    if (knows(IORING_OP_SEND_ZC)) used |= allowed & multishot_receive;
    return used;
}

}  // namespace coracle::detail
