#pragma once

#include <coracle/base/detail/intrusive_list.hpp>

#include <cassert>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace coracle::detail {

/// A map that knows which of its entries was used longest ago. Has no limit of its own. A tree, not
/// a hash table: keys may come from strangers, who cannot make a tree slow. Not thread-safe.
template <class Key, class Value>
class lru_map {
public:
    bool empty() const noexcept { return entries_.empty(); }
    std::size_t size() const noexcept { return entries_.size(); }

    /// Returns the value of `key`, which is used by that, or null. It stays where it is until it is
    /// taken or cleared.
    template <class K>
    Value* use(const K& key) noexcept {
        const auto found = entries_.find(key);
        if (found == entries_.end()) return nullptr;
        order_.push_back(found->second);
        return &found->second.value;
    }

    /// Sets the value of `key`, which is used by that. Without memory nothing has changed.
    Value& put(Key key, Value value) {
        const auto [at, is_new] = entries_.try_emplace(std::move(key), std::move(value));
        entry& e = at->second;
        // try_emplace has moved nothing where the key is known.
        if (!is_new) e.value = std::move(value);  // NOLINT(bugprone-use-after-move)
        e.key = &at->first;
        order_.push_back(e);
        return e.value;
    }

    /// Removes the entry of `key`, and returns its value, or nothing.
    template <class K>
    std::optional<Value> take(const K& key) {
        const auto found = entries_.find(key);
        if (found == entries_.end()) return std::nullopt;
        std::optional<Value> taken(std::move(found->second.value));
        entries_.erase(found);
        return taken;
    }

    /// Returns the value that was used longest ago; of no empty map.
    Value& oldest() noexcept {
        assert(!empty());
        return order_.front()->value;
    }
    /// Removes and returns it.
    Value take_oldest() {
        assert(!empty());
        return *take(*order_.front()->key);
    }

    void clear() noexcept { entries_.clear(); }

private:
    struct entry : list_hook {
        explicit entry(Value&& v) noexcept : value(std::move(v)) {}
        Value value;
        const Key* key = nullptr;
    };

    std::map<Key, entry, std::less<>> entries_;
    intrusive_list<entry> order_;  ///< used longest ago first
};

}  // namespace coracle::detail
