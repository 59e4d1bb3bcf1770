#include "base/lru_map.hpp"

#include <coracle/http/middleware/session_store.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>

namespace coracle::http {
namespace {

constexpr std::size_t part_count = 16;
/// The bytes that a session takes beside its data: key and node of the map.
constexpr std::size_t overhead = 200;

/// Some of the sessions.
class part {
public:
    std::optional<std::string> load(std::string_view key, time_point now, duration keep) {
        const std::lock_guard lock(guard_);
        entry* const known = entries_.use(key);
        if (known == nullptr) return std::nullopt;
        if (known->until <= now) {
            drop(key);
            return std::nullopt;
        }
        known->until = std::max(known->until, coracle::detail::later(now, keep));
        return known->data;
    }

    /// Returns how many others it dropped before their time.
    std::uint64_t save(std::string_view key, std::string_view data, time_point now, duration keep,
                       session_save how, std::size_t most, std::size_t most_bytes) {
        const std::lock_guard lock(guard_);
        entry* known = entries_.use(key);
        if (known != nullptr && known->until <= now) {
            drop(key);
            known = nullptr;
        }
        if (how == session_save::replace && known == nullptr) return 0;
        // All that needs memory comes first.
        entry added{std::string(data), coracle::detail::later(now, keep)};
        if (known == nullptr) {
            bytes_ += entries_.put(std::string(key), std::move(added)).cost();
        } else {
            bytes_ -= known->cost();
            *known = std::move(added);
            bytes_ += known->cost();
        }
        std::uint64_t dropped = 0;
        while (entries_.size() > 1 && (entries_.size() > most || bytes_ > most_bytes)) {
            const entry oldest = entries_.take_oldest();
            bytes_ -= oldest.cost();
            dropped += oldest.until > now ? 1U : 0U;
        }
        return dropped;
    }

    bool remove(std::string_view key, time_point now) noexcept {
        const std::lock_guard lock(guard_);
        const auto dropped = drop(key);
        return dropped && dropped->until > now;
    }

    std::size_t size() const noexcept {
        const std::lock_guard lock(guard_);
        return entries_.size();
    }

private:
    struct entry {
        std::string data;
        time_point until;

        std::size_t cost() const noexcept { return data.size() + overhead; }
    };

    std::optional<entry> drop(std::string_view key) noexcept {
        auto known = entries_.take(key);
        if (known) bytes_ -= known->cost();
        return known;
    }

    mutable std::mutex guard_;
    coracle::detail::lru_map<std::string, entry> entries_;
    std::size_t bytes_ = 0;
};

}  // namespace

class memory_session_store::parts {
public:
    explicit parts(const memory_session_store_options& o)
        : most(o.sessions / part_count + (o.sessions % part_count != 0 ? 1 : 0)),
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

task<std::expected<bool, error>> memory_session_store::remove(std::string_view key) {
    co_return parts_->of(key).remove(key, loop::current()->now());
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
