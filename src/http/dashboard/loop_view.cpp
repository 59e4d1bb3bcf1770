#include "http/dashboard/loop_view.hpp"

#include <algorithm>

namespace coracle::http::detail {

using guard = coracle::detail::short_lock::guard;

loop_view::loop_view(loop& l, std::shared_ptr<loop_views> all, std::size_t most_routes)
    : resident(all.get()), loop_(l), all_(std::move(all)), most_routes_(most_routes) {
    all_->add(*this);
}

void loop_view::loop_ended() noexcept {
    all_->remove(*this);
    delete this;
}

void loop_view::add(const access_record& record) {
    if (!record.is_whole) return;
    ++by_class[std::min(5U, static_cast<unsigned>(record.status) / 100)];
    bytes += record.body_bytes;
    latencies.add(record.took);
    std::string_view route = record.req.route();
    if (route.empty()) route = "(none)";
    const guard hold(lock_);
    auto at = routes_.find(route);
    if (at == routes_.end()) {
        const bool fits = routes_.size() < most_routes_;
        at = routes_.try_emplace(std::string(fits ? route : "(other)")).first;
    }
    route_counts& r = at->second;
    ++r.requests;
    if (is_server_error(record.status)) ++r.errors;
    r.total += record.took;
    r.longest = std::max(r.longest, record.took);
}

void loop_view::add_routes_to(route_table& sum) const {
    const guard hold(lock_);
    for (const auto& [name, r] : routes_) {
        route_counts& to = sum[name];
        to.requests += r.requests;
        to.errors += r.errors;
        to.total += r.total;
        to.longest = std::max(to.longest, r.longest);
    }
}

}  // namespace coracle::http::detail
