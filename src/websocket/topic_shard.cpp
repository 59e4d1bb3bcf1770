// The subscriptions of one loop.

#include "websocket/topic_pattern.hpp"
#include "websocket/topic_state.hpp"

#include <new>
#include <utility>

namespace coracle::websocket::detail {

// ---- topic_subscriber

topic_subscriber::topic_subscriber(std::shared_ptr<const topic_pattern> p,
                                   std::shared_ptr<engine> e,
                                   std::vector<std::shared_ptr<const shared_frame>>& kept)
    : pattern_(std::move(p)), engine_(std::move(e)),
      since_(pattern_->state->begin(pattern_->name, kept)) {}

topic_subscriber::~topic_subscriber() {
    topic_state& state = *pattern_->state;
    if (auto* const here = loop::current()) {
        auto* const shard = static_cast<topic_shard*>(here->find_resident(&state));
        if (shard != nullptr) shard->remove(*this);
    }
    state.end(pattern_->name);
}

// ---- topic_shard

topic_shard::topic_shard(std::shared_ptr<topic_state> s, loop& home)
    : resident(s.get()), state_(std::move(s)), home_(&home) {
    state_->enter(*this);
    home.settle(*this);
}

void topic_shard::loop_ended() noexcept {
    state_->leave(*this);
    delete this;
}

/// There may be many `topics`, one after the other, while a loop lasts.
void topic_shard::end_if_unused() noexcept {
    if (!exact_.empty() || !wild_.empty()) return;
    unlink();
    loop_ended();
}

std::unique_ptr<topic_subscriber> topic_shard::subscribe(
    std::string_view pattern, std::shared_ptr<engine> e,
    std::vector<std::shared_ptr<const shared_frame>>& kept) {
    if (is_wild(pattern)) return subscribe_in(wild_, pattern, std::move(e), kept);
    return subscribe_in(exact_, pattern, std::move(e), kept);
}

template <class Groups>
std::unique_ptr<topic_subscriber> topic_shard::subscribe_in(
    Groups& groups, std::string_view pattern, std::shared_ptr<engine> e,
    std::vector<std::shared_ptr<const shared_frame>>& kept) {
    try {
        auto at = groups.find(pattern);
        if (at == groups.end()) {
            auto made = std::make_shared<const topic_pattern>(state_, std::string(pattern));
            at = groups.try_emplace(made->name, made).first;
        }
        auto s = std::make_unique<topic_subscriber>(at->second.pattern, std::move(e), kept);
        at->second.subscribers.push_back(*s);
        return s;
    } catch (...) {
        drop_if_empty(groups, pattern);
        end_if_unused();
        throw;
    }
}

template <class Groups>
void topic_shard::drop_if_empty(Groups& groups, std::string_view pattern) noexcept {
    const auto at = groups.find(pattern);
    if (at != groups.end() && at->second.subscribers.empty()) groups.erase(at);
}

void topic_shard::remove(topic_subscriber& s) noexcept {
    s.unlink();
    if (is_wild(s.pattern()))
        drop_if_empty(wild_, s.pattern());
    else
        drop_if_empty(exact_, s.pattern());
    end_if_unused();
}

namespace {

/// Prefetches for the next deliveries while one sends: each step reads what the one before it has
/// fetched.
[[gnu::always_inline]] inline void prefetch_behind(intrusive_list<topic_subscriber>& all,
                                                   topic_subscriber* next) noexcept {
    if (next == nullptr) return;
    next->connection().prefetch_stream();
    topic_subscriber* const second = all.next(*next);
    if (second == nullptr) return;
    second->connection().prefetch();
    coracle::detail::prefetch<1>(all.next(*second), 0);
}

}  // namespace

std::size_t topic_shard::deliver_to(group& all, const published& p) noexcept {
    const topic_options& o = state_->options();
    std::size_t reached = 0;
    for (topic_subscriber* s = all.subscribers.front(); s != nullptr;) {
        topic_subscriber* const next = all.subscribers.next(*s);
        prefetch_behind(all.subscribers, next);
        // A connection with several subscriptions gets it once.
        engine& c = s->connection();
        if (s->is_for(p.sequence) && c.is_open() && c.note_published(state_.get(), p.sequence)) {
            // Those that a bus brings for a new pattern come at once, too.
            const bool is_taken = p.only.empty()
                                      ? c.share(p.frame, o.backlog, o.policy)
                                      : c.share_retained(p.frame, o.backlog, o.retained, o.policy);
            state_->count_delivery(!is_taken);
            ++reached;
        }
        s = next;
    }
    return reached;
}

std::size_t topic_shard::deliver_to_pattern(const published& p) noexcept {
    if (const auto at = exact_.find(p.only); at != exact_.end()) {
        return deliver_to(at->second, p);
    }
    const auto at = wild_.find(p.only);
    return at == wild_.end() ? 0 : deliver_to(at->second, p);
}

std::size_t topic_shard::deliver(const published& p) noexcept {
    if (!p.only.empty()) return deliver_to_pattern(p);
    std::size_t reached = 0;
    if (const auto at = exact_.find(p.topic); at != exact_.end()) {
        reached += deliver_to(at->second, p);
    }
    for (auto& [pattern, all] : wild_) {
        if (topic_matches(pattern, p.topic)) reached += deliver_to(all, p);
    }
    return reached;
}

}  // namespace coracle::websocket::detail
