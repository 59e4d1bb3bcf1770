#pragma once

#include "net/resolver/records.hpp"

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>

#include <expected>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::net::detail {

using verdict = std::expected<std::shared_ptr<const records>, error>;

/// The key of a query: a name in lower case and a kind of record.
std::string question_key(std::string_view name, record_kind wanted);

/// A cache of responses, each for its lifetime; beyond `most`, those not used for longest are
/// dropped. A tree, not a hash table: names may come from strangers, who cannot make a tree slow.
class response_cache {
public:
    explicit response_cache(std::size_t most) noexcept : most_(most) {}

    /// Returns null if there is none that is valid at `now`.
    const verdict* find(const std::string& key, time_point now);
    void keep(const std::string& key, const verdict& response, time_point until);
    void clear() noexcept;
    std::size_t size() const noexcept { return entries_.size(); }

private:
    struct entry : list_hook {
        verdict response;
        time_point until;
        const std::string* key = nullptr;
    };

    void drop(entry& e);

    std::size_t most_;
    std::map<std::string, std::unique_ptr<entry>, std::less<>> entries_;
    intrusive_list<entry> used_;  ///< least recently used first
};

}  // namespace coracle::net::detail
