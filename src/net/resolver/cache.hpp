#pragma once

#include "base/lru_map.hpp"
#include "net/resolver/records.hpp"

#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>

#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::net::detail {

using verdict = std::expected<std::shared_ptr<const records>, error>;

/// The key of a query: a name in lower case and a kind of record.
std::string question_key(std::string_view name, record_kind wanted);

/// A cache of responses, each for its lifetime; beyond `most`, those not used for longest are
/// dropped.
class response_cache {
public:
    explicit response_cache(std::size_t most) noexcept : most_(most) {}

    /// Returns null if there is none that is valid at `now`.
    const verdict* find(const std::string& key, time_point now);
    void keep(const std::string& key, const verdict& response, time_point until);
    void clear() noexcept;
    std::size_t size() const noexcept { return entries_.size(); }

private:
    struct entry {
        verdict response;
        time_point until;
    };

    std::size_t most_;
    coracle::detail::lru_map<std::string, entry> entries_;
};

}  // namespace coracle::net::detail
