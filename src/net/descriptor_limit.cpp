#include "net/raised_limit.hpp"

#include <coracle/net/descriptor_limit.hpp>

#include <sys/resource.h>

#include <atomic>

namespace coracle::net {
namespace {

std::atomic<std::uint64_t> raised_from{0};

}  // namespace

std::uint64_t detail::limit_before_it_was_raised() noexcept {
    return raised_from.load(std::memory_order_relaxed);
}

std::uint64_t raise_descriptor_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    const rlim_t before = limit.rlim_cur;
    if (before == limit.rlim_max) return before;
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return before;
    raised_from.store(before, std::memory_order_relaxed);
    return limit.rlim_cur;
}

std::uint64_t descriptor_limit() noexcept {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace coracle::net
