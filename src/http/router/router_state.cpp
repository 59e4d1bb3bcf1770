#include "http/router/router_state.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// Refuses a handler that asks for parameters that the pattern does not have: it would fail each
/// request.
void check_wanted(const route_record& record) {
    const auto& names = record.names;
    for (const std::string& w : record.wanted) {
        if (std::find(names.begin(), names.end(), w) != names.end()) continue;
        refuse_pattern(record.pattern.text, "its handler takes the parameter {" + w +
                                                "}, which the pattern does not have");
    }
}

/// The innermost handler of a chain of middleware. It finds the table by itself: a chain outlives
/// the tables that it was made with.
class inside_middleware final : public handler::implementation {
public:
    explicit inside_middleware(router_state& s) noexcept : state_(&s) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        served_table& mine = state_->live().of_this_thread();
        req.hold(mine);
        const route_table& table = mine.of->table;
        if (!table.problems) [[likely]]
            return dispatch(table, req, out, pending);
        return respond_with_problems(table, req, out, pending);
    }

private:
    router_state* state_;
};

}  // namespace

std::shared_ptr<route_record> router_state::make_record(std::string_view text, handler h,
                                                        std::vector<std::string> wanted) {
    auto record = std::make_shared<route_record>();
    record->pattern = parse_pattern(text);
    record->names = names_of(record->pattern);
    record->target = std::move(h);
    record->wanted = std::move(wanted);
    record->sequence = next_sequence_++;
    if (is_served()) check_wanted(*record);
    return record;
}

void router_state::add_middleware(unique_function<handler(handler)> m) {
    middleware_.push_back(std::move(m));
    chain_is_old_ = true;
}

void router_state::drop_middleware_above(std::size_t count) {
    chain_is_old_ = chain_is_old_ || middleware_.size() != count;
    while (middleware_.size() > count) middleware_.pop_back();
}

handler router_state::wrapped(handler inner) {
    if (!inner) return inner;
    for (auto m = middleware_.rbegin(); m != middleware_.rend(); ++m)
        inner = (*m)(contain(std::move(inner)));
    return inner;
}

void router_state::begin_to_serve() {
    const std::scoped_lock held(lock_);
    if (is_served()) return;
    for (const auto& r : table_.list()) check_wanted(*r.record);
    publish();
    served_.store(true, std::memory_order_release);
}

void router_state::publish() {
    if (chain_is_old_) {
        chain_ = middleware_.empty() ? handler()
                                     : wrapped(handler(std::make_shared<inside_middleware>(*this)));
        chain_is_old_ = false;
    }
    live_.publish(std::make_shared<const served_table::content>(table_, chain_));
}

}  // namespace coracle::http::detail
