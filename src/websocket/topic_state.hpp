#pragma once

#include "websocket/engine.hpp"
#include "websocket/shared_frame.hpp"

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/websocket/topics.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coracle::websocket::detail {

class topic_shard;
class topic_state;

/// A pattern that connections of one loop have subscribed to; shared by all of them.
struct topic_pattern {
    std::shared_ptr<topic_state> state;
    std::string name;
};

/// One subscription, among those of its pattern on its loop.
class topic_subscriber final : public list_hook {
public:
    /// Registers it, and gives the retained messages for it.
    topic_subscriber(std::shared_ptr<const topic_pattern> p, std::shared_ptr<engine> e,
                     std::vector<std::shared_ptr<const shared_frame>>& kept);
    topic_subscriber(const topic_subscriber&) = delete;
    topic_subscriber& operator=(const topic_subscriber&) = delete;
    ~topic_subscriber();

    engine& connection() const noexcept { return *engine_; }
    const std::string& pattern() const noexcept { return pattern_->name; }
    /// Returns whether a message was published after the subscription began.
    bool is_for(std::uint64_t sequence) const noexcept { return sequence > since_; }

private:
    std::shared_ptr<const topic_pattern> pattern_;
    std::shared_ptr<engine> engine_;
    std::uint64_t since_;
};
// A server has millions of them.
static_assert(sizeof(topic_subscriber) <= 64);

/// A message on its way to the subscribers of all loops.
struct published {
    std::string topic;
    std::shared_ptr<const shared_frame> frame;
    std::uint64_t sequence = 0;
    std::string only = {};  ///< the one pattern whose subscribers get it; empty: all that match
};

/// The subscriptions of one loop. Ends with the last of them, or with the loop.
class topic_shard final : public resident {
public:
    topic_shard(std::shared_ptr<topic_state> s, loop& home);
    void loop_ended() noexcept override;

    loop& home() const noexcept { return *home_; }
    std::unique_ptr<topic_subscriber> subscribe(
        std::string_view pattern, std::shared_ptr<engine> e,
        std::vector<std::shared_ptr<const shared_frame>>& kept);
    /// Destroys this behind the last one.
    void remove(topic_subscriber& s) noexcept;
    std::size_t deliver(const published& p) noexcept;

    /// Bytes of messages that are on their way here.
    const std::shared_ptr<std::atomic<std::size_t>>& expected() const noexcept { return expected_; }

private:
    struct group {
        explicit group(std::shared_ptr<const topic_pattern> of) noexcept : pattern(std::move(of)) {}
        std::shared_ptr<const topic_pattern> pattern;
        intrusive_list<topic_subscriber> subscribers;
    };
    template <class Groups>
    std::unique_ptr<topic_subscriber> subscribe_in(
        Groups& groups, std::string_view pattern, std::shared_ptr<engine> e,
        std::vector<std::shared_ptr<const shared_frame>>& kept);
    template <class Groups>
    static void drop_if_empty(Groups& groups, std::string_view pattern) noexcept;
    std::size_t deliver_to_pattern(const published& p) noexcept;
    std::size_t deliver_to(group& all, const published& p) noexcept;
    void end_if_unused() noexcept;

    std::shared_ptr<topic_state> state_;
    loop* home_;
    // Outlives this as long as one of them is on its way.
    std::shared_ptr<std::atomic<std::size_t>> expected_ =
        std::make_shared<std::atomic<std::size_t>>(0);
    // Their keys are the names in their patterns.
    std::unordered_map<std::string_view, group> exact_;
    std::map<std::string_view, group> wild_;
};

/// The state shared by all loops. The lock is held for a few instructions, and while messages are
/// posted to other loops, so that these do not end meanwhile.
class topic_state final : public topic_receiver, public std::enable_shared_from_this<topic_state> {
public:
    topic_state(topic_options o, std::shared_ptr<topic_bus> bus)
        : options_(o), bus_(std::move(bus)) {
        // Sums of both are numbers of messages.
        constexpr std::size_t most = SIZE_MAX / 4;
        options_.backlog = std::min(options_.backlog, most);
        options_.retained = std::min(options_.retained, most);
        if (bus_ != nullptr) bus_->start(*this);
    }
    ~topic_state() {
        if (bus_ != nullptr) bus_->stop();
    }
    topic_state(const topic_state&) = delete;
    topic_state& operator=(const topic_state&) = delete;

    const topic_options& options() const noexcept { return options_; }
    void count_delivery(bool dropped) noexcept {
        (dropped ? dropped_ : delivered_).fetch_add(1, std::memory_order_relaxed);
    }

    topic_shard& here();
    void enter(topic_shard& s) {
        const std::lock_guard lock(mutex_);
        shards_.push_back(&s);
    }
    void leave(topic_shard& s) noexcept {
        const std::lock_guard lock(mutex_);
        std::erase(shards_, &s);
    }

    /// Registers a subscription, and returns the retained messages for it.
    std::uint64_t begin(std::string_view pattern,
                        std::vector<std::shared_ptr<const shared_frame>>& kept);
    void end(const std::string& pattern) noexcept;

    std::size_t publish(std::string_view topic, message_type type, std::string_view bytes,
                        bool retain, bool outside);
    void deliver(std::string_view topic, message_type type, std::string_view bytes,
                 bool retain) override {
        publish(topic, type, bytes, retain, false);
    }
    void missed() noexcept override { gaps_.fetch_add(1, std::memory_order_relaxed); }
    std::uint64_t mark() const noexcept override {
        const std::lock_guard lock(mutex_);
        return sequence_;
    }
    void restore(std::string_view pattern, std::string_view topic, message_type type,
                 std::string_view bytes, std::uint64_t since) override;

    std::size_t presence(std::string_view pattern) const;
    std::optional<std::string> retained(std::string_view topic) const;
    topic_counters counters() const noexcept;

private:
    struct kept_message {
        std::string topic;
        std::shared_ptr<const shared_frame> frame;
        std::uint64_t sequence = 0;
    };
    struct forgotten_message {
        std::string topic;
        std::uint64_t sequence = 0;
    };
    /// Topics that are remembered to have been forgotten, while older messages may be on their way.
    static constexpr std::size_t most_forgotten = 64;
    /// Bytes that a message on its way to another loop takes besides its own.
    static constexpr std::size_t cost_of_post = 256;

    /// Returns false if no subscription of any loop matches.
    bool may_have_subscribers(std::string_view topic) const noexcept {
        return wild_ != 0 || present_.contains(topic);
    }
    void keep(const published& p);
    void forget(const published& p);
    /// Returns true if a message that was retained before `since` is not the last of its topic.
    bool is_outdated(std::string_view topic, const shared_frame& frame,
                     std::uint64_t since) const noexcept;
    /// Posts to the other loops, and gives the shard of this one.
    topic_shard* post_to_others(const std::shared_ptr<const published>& p);

    topic_options options_;
    std::shared_ptr<topic_bus> bus_;
    mutable std::mutex mutex_;
    std::vector<topic_shard*> shards_;
    std::uint64_t sequence_ = 0;
    std::map<std::string, std::size_t, std::less<>> present_;
    std::size_t wild_ = 0;          ///< patterns of `present_` that match several topics
    std::list<kept_message> kept_;  ///< the most recently published one last
    std::map<std::string_view, std::list<kept_message>::iterator> kept_by_topic_;
    std::list<forgotten_message> forgotten_;
    std::atomic<std::uint64_t> published_{0};
    std::atomic<std::uint64_t> delivered_{0};
    std::atomic<std::uint64_t> dropped_{0};
    std::atomic<std::uint64_t> subscribers_{0};
    std::atomic<std::uint64_t> gaps_{0};
};

}  // namespace coracle::websocket::detail
