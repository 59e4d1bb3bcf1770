#include "websocket/topic_state.hpp"

#include "websocket/topic_pattern.hpp"

#include <new>
#include <utility>

namespace coracle::websocket::detail {

topic_shard& topic_state::here() {
    loop& home = *loop::current();
    if (auto* const found = home.find_resident(this)) return *static_cast<topic_shard*>(found);
    return *new topic_shard(shared_from_this(), home);
}

std::uint64_t topic_state::begin(std::string_view pattern,
                                 std::vector<std::shared_ptr<const shared_frame>>& kept) {
    const std::lock_guard lock(mutex_);
    const bool is_topic = !is_wild(pattern);
    if (is_topic) {
        const auto found = kept_by_topic_.find(pattern);
        if (found != kept_by_topic_.end()) kept.push_back(found->second->frame);
    } else {
        for (const kept_message& k : kept_) {
            if (topic_matches(pattern, k.topic)) kept.push_back(k.frame);
        }
    }
    const auto [at, is_first] = present_.try_emplace(std::string(pattern), 0);
    if (is_first && bus_ != nullptr) {
        try {
            bus_->subscribe(pattern);
        } catch (...) {
            present_.erase(at);
            throw;
        }
    }
    if (is_first && !is_topic) ++wild_;
    ++at->second;
    subscribers_.fetch_add(1, std::memory_order_relaxed);
    return sequence_;
}

void topic_state::end(const std::string& pattern) noexcept {
    const std::lock_guard lock(mutex_);
    subscribers_.fetch_sub(1, std::memory_order_relaxed);
    const auto at = present_.find(pattern);
    if (at == present_.end() || --at->second != 0) return;
    present_.erase(at);
    if (is_wild(pattern)) --wild_;
    if (bus_ != nullptr) bus_->unsubscribe(pattern);
}

/// Keeps the message in place of the last one of its topic. Where memory fails, all stays as it
/// was.
void topic_state::keep(const published& p) {
    const auto at = kept_by_topic_.find(p.topic);
    const bool is_new = at == kept_by_topic_.end();
    if (p.frame->payload().empty()) {
        if (bus_ != nullptr) forget(p);
        if (is_new) return;
        const auto old = at->second;
        kept_by_topic_.erase(at);
        kept_.erase(old);
        return;
    }
    std::erase_if(forgotten_, [&p](const forgotten_message& f) { return f.topic == p.topic; });
    if (options_.retained == 0) return;
    if (!is_new) {
        at->second->frame = p.frame;
        at->second->sequence = p.sequence;
        kept_.splice(kept_.end(), kept_, at->second);
        return;
    }
    kept_.push_back({p.topic, p.frame, p.sequence});
    try {
        kept_by_topic_.emplace(kept_.back().topic, std::prev(kept_.end()));
    } catch (...) {
        kept_.pop_back();
        throw;
    }
    if (kept_.size() <= options_.retained) return;
    kept_by_topic_.erase(kept_.front().topic);
    kept_.pop_front();
}

/// Notes that a topic has no message since this one.
void topic_state::forget(const published& p) {
    forgotten_.push_back({p.topic, p.sequence});
    if (forgotten_.size() > most_forgotten) forgotten_.pop_front();
}

bool topic_state::is_outdated(std::string_view topic, const shared_frame& frame,
                              std::uint64_t since) const noexcept {
    if (const auto at = kept_by_topic_.find(topic); at != kept_by_topic_.end()) {
        const kept_message& k = *at->second;
        return k.sequence > since || k.frame->payload() == frame.payload();
    }
    return std::ranges::any_of(forgotten_, [topic, since](const forgotten_message& f) {
        return f.topic == topic && f.sequence > since;
    });
}

topic_shard* topic_state::post_to_others(const std::shared_ptr<const published>& p) {
    loop* const home = loop::current();
    const std::size_t bytes = p->frame->bytes.size() + cost_of_post;
    topic_shard* own = nullptr;
    for (topic_shard* const s : shards_) {
        if (&s->home() == home) {
            own = s;
            continue;
        }
        const auto expected = s->expected();
        // It grows under the lock alone.
        const std::size_t before = expected->load(std::memory_order_relaxed);
        if (before != 0 && before + bytes > options_.handed_over) {
            count_delivery(true);
            continue;
        }
        expected->fetch_add(bytes, std::memory_order_relaxed);
        const auto deliver = [state = shared_from_this(), p, bytes, expected] {
            expected->fetch_sub(bytes, std::memory_order_relaxed);
            auto* const shard = loop::current()->find_resident(state.get());
            if (shard != nullptr) static_cast<topic_shard*>(shard)->deliver(*p);
        };
        try {
            s->home().post(deliver);
        } catch (const std::bad_alloc&) {
            // The other loops get it all the same.
            expected->fetch_sub(bytes, std::memory_order_relaxed);
            count_delivery(true);
        }
    }
    return own;
}

std::size_t topic_state::publish(std::string_view topic, message_type type, std::string_view bytes,
                                 bool retain, bool outside) {
    published_.fetch_add(1, std::memory_order_relaxed);
    if (!retain) {
        const std::lock_guard lock(mutex_);
        if (!may_have_subscribers(topic)) {
            if (outside && bus_ != nullptr) bus_->publish(topic, type, bytes, retain);
            return 0;
        }
    }
    // Framing and compressing may take long: not under the lock.
    auto p = std::make_shared<published>();
    p->topic = topic;
    p->frame = make_shared_frame(type, bytes, options_.compression);
    topic_shard* own = nullptr;
    {
        const std::lock_guard lock(mutex_);
        p->sequence = ++sequence_;
        if (retain) keep(*p);
        own = post_to_others(p);
        if (outside && bus_ != nullptr) bus_->publish(topic, type, bytes, retain);
    }
    return own == nullptr ? 0 : own->deliver(*p);
}

void topic_state::restore(std::string_view pattern, std::string_view topic, message_type type,
                          std::string_view bytes, std::uint64_t since) {
    auto p = std::make_shared<published>();
    p->topic = topic;
    p->only = pattern;
    p->frame = make_shared_frame(type, bytes, options_.compression);
    topic_shard* own = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (is_outdated(topic, *p->frame, since)) return;
        p->sequence = ++sequence_;
        keep(*p);
        own = post_to_others(p);
    }
    if (own != nullptr) own->deliver(*p);
}

std::size_t topic_state::presence(std::string_view pattern) const {
    const std::lock_guard lock(mutex_);
    const auto at = present_.find(pattern);
    return at == present_.end() ? 0 : at->second;
}

std::optional<std::string> topic_state::retained(std::string_view topic) const {
    const std::lock_guard lock(mutex_);
    const auto at = kept_by_topic_.find(topic);
    if (at == kept_by_topic_.end()) return std::nullopt;
    return std::string(at->second->frame->payload());
}

topic_counters topic_state::counters() const noexcept {
    topic_counters c;
    c.published = published_.load(std::memory_order_relaxed);
    c.delivered = delivered_.load(std::memory_order_relaxed);
    c.dropped = dropped_.load(std::memory_order_relaxed);
    c.subscribers = subscribers_.load(std::memory_order_relaxed);
    c.gaps = gaps_.load(std::memory_order_relaxed);
    return c;
}

}  // namespace coracle::websocket::detail
