#include <coracle/runtime/detail/stack_depth.hpp>
#include <coracle/runtime/loop.hpp>

#include <new>

namespace coracle::detail {
namespace {

class late_resumption final : public runnable {
public:
    explicit late_resumption(std::coroutine_handle<> h) noexcept : resumed_(h) {}
    void run() noexcept override {
        const std::coroutine_handle<> h = resumed_;
        delete this;
        h.resume();
    }

private:
    std::coroutine_handle<> resumed_;
};

}  // namespace

std::coroutine_handle<> resume_in_next_turn(std::coroutine_handle<> h, context& c) noexcept {
    auto* const later = new (std::nothrow) late_resumption(h);
    if (later == nullptr) return h;
    c.owner().enqueue(*later);
    return std::noop_coroutine();
}

}  // namespace coracle::detail
