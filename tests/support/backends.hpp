#pragma once

#include "runtime/backend/uring.hpp"
#include "support/connected.hpp"

#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing {

/// A backend under test; io_uring also as kernels that lack something of it have it.
struct backend_case {
    const char* name;
    backend_kind kind;
    unsigned uring_features = detail::all_uring_features;

    bool is_uring() const noexcept { return kind == backend_kind::uring; }
    std::expected<std::unique_ptr<backend>, error> open() const {
        if (is_uring()) return detail::uring_backend::open(uring_features);
        return make_backend(kind);
    }
    friend std::ostream& operator<<(std::ostream& out, const backend_case& c) {
        return out << c.name;
    }
};

inline std::vector<backend_case> each_backend() {
    using namespace detail;
    static const bool has_uring = uring_backend::open().has_value();
    std::vector<backend_case> all = {{"epoll", backend_kind::epoll}, {"poll", backend_kind::poll}};
    if (!has_uring) return all;
    constexpr auto uring = backend_kind::uring;
    all.push_back({"uring", uring});
    all.push_back({"uring_with_cooperative_work", uring, all_uring_features & ~deferred_work});
    all.push_back({"uring_without_multishot", uring, all_uring_features & ~multishot_receive});
    all.push_back({"uring_of_the_oldest_kernel", uring, 0});
    return all;
}

/// A loop on a backend of its own.
class loop_on {
public:
    explicit loop_on(const backend_case& c) : loop_(opened(c), log_) {}
    explicit loop_on(std::unique_ptr<backend> b) : loop_(std::move(b), log_) {}

    coracle::loop& loop() noexcept { return loop_; }
    template <class F>
    void run(F f) {
        bool done = false;
        detail::blocking_child<void> main(done);
        loop_.post(
            [&] { main.begin(detail::call_in_task(f), loop_, &loop_.root(), "test").resume(); });
        loop_.run_until(done);
        loop_.reset();
        if (auto e = main.exception()) std::rethrow_exception(e);
    }

private:
    static std::unique_ptr<backend> opened(const backend_case& c) {
        auto b = c.open();
        if (!b) throw_exception(std::move(b).error());
        return *std::move(b);
    }
    logger log_;
    coracle::loop loop_;
};

/// Lets `n` turns of the loop pass.
inline task<> turns(int n) {
    for (int i = 0; i != n; ++i) co_await yield();
}

}  // namespace coracle::testing
