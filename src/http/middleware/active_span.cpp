#include "http/middleware/active_span.hpp"

namespace coracle::http::detail {
namespace {

/// Its address names the resident of each loop.
constexpr char owner_of_spans = 0;

}  // namespace

spans_here::spans_here() noexcept : resident(&owner_of_spans) {}

spans_here& spans_here::of_this_loop() {
    loop& l = *loop::current();
    if (resident* const r = l.find_resident(&owner_of_spans)) return static_cast<spans_here&>(*r);
    auto* const made = new spans_here;
    l.settle(*made);
    return *made;
}

trace_span* spans_here::around(const coracle::detail::promise_base* frame) const noexcept {
    if (by_frame_.empty()) return nullptr;
    const coracle::detail::promise_base* f = frame;
    while (f != nullptr) {
        if (const auto at = by_frame_.find(f); at != by_frame_.end()) return at->second;
        f = f->scope == nullptr ? f->parent : f->scope->time_limit().around;
    }
    return nullptr;
}

}  // namespace coracle::http::detail
