#pragma once

#include "support/open_descriptors.hpp"

#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace coracle::testing {

/// A test that runs on each backend of the system, with the pool of a whole runtime.
class on_each_backend : public ::testing::TestWithParam<backend_kind> {
public:
    template <class F>
    auto run(F f) {
        runtime_options o;
        o.backend = GetParam();
        return block_on(std::move(f), o);
    }

protected:
    void SetUp() override {
        if (!make_backend(GetParam())) GTEST_SKIP() << "this system has no such backend";
    }
};

inline std::string backend_name(const ::testing::TestParamInfo<backend_kind>& info) {
    switch (info.param) {
        case backend_kind::uring: return "uring";
        case backend_kind::epoll: return "epoll";
        default: return "poll";
    }
}

inline auto system_backends() {
    return ::testing::Values(backend_kind::uring, backend_kind::epoll, backend_kind::poll);
}

/// Returns true if this process has a child, running or not yet reaped; the symbolizer that a
/// sanitizer starts for its reports is none of ours.
inline bool has_children() {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD)
        return false;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream children(thread.path() / "children");
        if (!children) return true;  // a kernel that does not name them
        for (int pid = 0; children >> pid;) {
            std::string name;
            std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
            if (!name.starts_with("llvm-symbolizer")) return true;
        }
    }
    return false;
}

}  // namespace coracle::testing
