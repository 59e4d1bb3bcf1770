#include <coracle/http/middleware/session_store.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>

namespace coracle::http {
namespace {

constexpr std::size_t part_count = 16;
/// The bytes that a session takes beside its data: key, nodes of list and map.
constexpr std::size_t overhead = 200;

/// Some of the sessions. Those used last stand in front.
class part {
public:
    std::optional<std::string> load(std::string_view key, time_point now, duration keep) {
        const std::lock_guard lock(guard_);
        const auto known = by_key_.find(key);
        if (known == by_key_.end()) return std::nullopt;
        const auto at = known->second;
        if (at->until <= now) {
            drop(at);
            return std::nullopt;
        }
        at->until = std::max(at->until, detail::later(now, keep));
        order_.splice(order_.begin(), order_, at);
        return at->data;
    }

    /// Returns how many others it dropped before their time.
    std::uint64_t save(std::string_view key, std::string_view data, time_point now, duration keep,
                       session_save how, std::size_t most, std::size_t most_bytes) {
        const std::lock_guard lock(guard_);
        const auto known = by_key_.find(key);
        const bool is_there = known != by_key_.end() && known->second->until > now;
        if (known != by_key_.end()) drop(known->second);
        if (how == session_save::replace && !is_there) return 0;
        std::uint64_t dropped = 0;
        const std::size_t cost = data.size() + overhead;
        while (!order_.empty() && (order_.size() >= most || bytes_ + cost > most_bytes)) {
            dropped += order_.back().until > now ? 1U : 0U;
            drop(std::prev(order_.end()));
        }
        std::list<entry> made;
        made.push_front({std::string(key), std::string(data), detail::later(now, keep)});
        by_key_.emplace(made.front().key, made.begin());
        order_.splice(order_.begin(), made);
        bytes_ += cost;
        return dropped;
    }

    void remove(std::string_view key) noexcept {
        const std::lock_guard lock(guard_);
        if (const auto known = by_key_.find(key); known != by_key_.end()) drop(known->second);
    }

    std::size_t size() const noexcept {
        const std::lock_guard lock(guard_);
        return order_.size();
    }

private:
    struct entry {
        std::string key;
        std::string data;
        time_point until;
    };

    void drop(std::list<entry>::iterator at) noexcept {
        bytes_ -= at->data.size() + overhead;
        by_key_.erase(std::string_view(at->key));
        order_.erase(at);
    }

    mutable std::mutex guard_;
    std::list<entry> order_;
    std::unordered_map<std::string_view, std::list<entry>::iterator> by_key_;  ///< keys: views
    std::size_t bytes_ = 0;
};

}  // namespace

class memory_session_store::parts {
public:
    explicit parts(const memory_session_store_options& o)
        : most(std::max<std::size_t>(1, o.sessions / part_count)),
          most_bytes(o.bytes / part_count) {
        if (o.sessions != 0 && o.bytes != 0) return;
        error e(std::errc::invalid_argument, "memory_session_store_options");
        throw_exception(std::move(e.on(o.sessions == 0 ? "sessions" : "bytes")));
    }

    part& of(std::string_view key) noexcept {
        return all[std::hash<std::string_view>()(key) % part_count];
    }

    const std::size_t most;
    const std::size_t most_bytes;
    std::array<part, part_count> all;
    std::atomic<std::uint64_t> dropped{0};
};

memory_session_store::memory_session_store(memory_session_store_options options)
    : parts_(std::make_unique<parts>(options)) {}

memory_session_store::~memory_session_store() = default;

task<std::expected<std::optional<std::string>, error>> memory_session_store::load(
    std::string_view key, std::chrono::seconds time_to_live) {
    co_return parts_->of(key).load(key, loop::current()->now(), time_to_live);
}

task<std::expected<void, error>> memory_session_store::save(std::string_view key,
                                                            std::string_view data,
                                                            std::chrono::seconds time_to_live,
                                                            session_save how) {
    const std::uint64_t dropped = parts_->of(key).save(
        key, data, loop::current()->now(), time_to_live, how, parts_->most, parts_->most_bytes);
    if (dropped != 0) parts_->dropped.fetch_add(dropped, std::memory_order_relaxed);
    co_return {};
}

task<std::expected<void, error>> memory_session_store::remove(std::string_view key) {
    parts_->of(key).remove(key);
    co_return {};
}

std::size_t memory_session_store::size() const noexcept {
    std::size_t sum = 0;
    for (const part& p : parts_->all) sum += p.size();
    return sum;
}

std::uint64_t memory_session_store::dropped() const noexcept {
    return parts_->dropped.load(std::memory_order_relaxed);
}

}  // namespace coracle::http
