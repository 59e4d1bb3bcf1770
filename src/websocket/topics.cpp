#include "websocket/engine.hpp"
#include "websocket/shared_frame.hpp"

#include <coracle/runtime/detail/resident.hpp>
#include <coracle/websocket/topics.hpp>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace coracle::websocket {

namespace detail {

namespace {

std::string_view take_token(std::string_view& rest) noexcept {
    const std::size_t at = std::min(rest.find('.'), rest.size());
    const std::string_view token = rest.substr(0, at);
    rest.remove_prefix(std::min(at + 1, rest.size()));
    return token;
}

bool is_wild(std::string_view pattern) noexcept {
    return pattern.find_first_of("*>") != std::string_view::npos;
}

/// No token is empty; in a pattern "*" and ">" stand alone, and ">" last.
bool is_pattern(std::string_view text) noexcept {
    if (text.empty() || text.back() == '.') return false;
    while (!text.empty()) {
        const std::string_view token = take_token(text);
        if (token.empty() || (token == ">" && !text.empty())) return false;
        if (token.size() > 1 && is_wild(token)) return false;
    }
    return true;
}

[[noreturn]] void refuse(std::string_view name, const char* operation) {
    error e(std::errc::invalid_argument, operation);
    throw_exception(std::move(e.on(name)));
}

}  // namespace

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

// ---- topic_state

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

}  // namespace detail

// ---- subscription

subscription::subscription(std::unique_ptr<detail::topic_subscriber> s) noexcept
    : subscriber_(std::move(s)) {}
subscription::subscription(subscription&&) noexcept = default;
subscription& subscription::operator=(subscription&&) noexcept = default;
subscription::~subscription() = default;

void subscription::cancel() noexcept {
    subscriber_.reset();
}

// ---- topics

topics::topics(topic_options o, std::shared_ptr<topic_bus> bus)
    : state_(std::make_shared<detail::topic_state>(o, std::move(bus))) {}

subscription topics::subscribe(connection& ws, std::string_view pattern) {
    if (!detail::is_pattern(pattern)) detail::refuse(pattern, "topics subscribe");
    detail::topic_shard& here = state_->here();
    std::vector<std::shared_ptr<const detail::shared_frame>> kept;
    auto made = here.subscribe(pattern, ws.engine(), kept);
    const topic_options& o = state_->options();
    for (const auto& frame : kept) {
        state_->count_delivery(
            !ws.engine()->share_retained(frame, o.backlog, o.retained, o.policy));
    }
    return subscription(std::move(made));
}

std::size_t topics::publish(std::string_view topic, message_type type, std::string_view bytes,
                            bool retain) {
    if (!detail::is_pattern(topic) || detail::is_wild(topic)) {
        detail::refuse(topic, "topics publish");
    }
    return state_->publish(topic, type, bytes, retain, true);
}

std::size_t topics::presence(std::string_view pattern) const {
    return state_->presence(pattern);
}

std::optional<std::string> topics::retained(std::string_view topic) const {
    return state_->retained(topic);
}

topic_counters topics::counters() const noexcept {
    return state_->counters();
}

bool topic_matches(std::string_view pattern, std::string_view topic) noexcept {
    while (!pattern.empty() && !topic.empty()) {
        const std::string_view wanted = detail::take_token(pattern);
        if (wanted == ">") return true;
        const std::string_view token = detail::take_token(topic);
        if (wanted != "*" && wanted != token) return false;
    }
    return pattern.empty() && topic.empty();
}

}  // namespace coracle::websocket
