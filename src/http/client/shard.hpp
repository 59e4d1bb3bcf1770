#pragma once

#include "http/client/pool.hpp"
#include "http/client/retry_budget.hpp"
#include "http/client/shard_use.hpp"

#include <coracle/base/detail/tally.hpp>
#include <coracle/http/client.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/runtime/detail/resident.hpp>

#include <optional>
#include <vector>

namespace coracle::http::detail {

class client_core;

/// The part of a client on one loop: connections, resolver, and a copy of the options. Created by
/// the loop's first call; ends with the client or the loop, once no call uses it.
class client_shard final : public resident {
public:
    client_shard(client_core& core, loop& owner);
    ~client_shard();

    loop& owner() noexcept { return pool_.owner(); }
    connection_pool& pool() noexcept { return pool_; }
    net::resolver& names() noexcept { return *names_; }
    /// Returns the current options of the client.
    const std::shared_ptr<const prepared_options>& options();
    /// Parses a URL; a repeated one is taken from a cache of one entry.
    std::expected<url, error> read_url(const std::string& address);
    retry_budget& budget() noexcept { return budget_; }
    /// Those of the client, which a response may outlive.
    const std::vector<call_observer>& observers() const noexcept { return observers_; }

    void hold() noexcept { ++holders_; }
    void drop() noexcept {
        if (--holders_ == 0 && retired_) delete this;
    }
    /// Closes idle connections, and destroys the shard after its last call.
    void retire() noexcept;

    /// From any thread.
    void add_to(client_statistics& s) const noexcept;
    struct {
        tally calls;
        tally failed;
        tally retries;
        tally retries_held_back;
        tally redirects;
    } counts;

private:
    void loop_ended() noexcept override;

    client_core* core_;
    connection_pool pool_;
    std::optional<net::resolver> names_;
    std::shared_ptr<const prepared_options> options_;
    std::uint64_t generation_ = 0;
    std::string last_address_;
    url last_url_;
    retry_budget budget_;
    const std::vector<call_observer> observers_;
    std::size_t holders_ = 0;
    bool retired_ = false;
};

inline shard_use::shard_use(client_shard& s) noexcept : shard_(&s) {
    s.hold();
}
inline shard_use::~shard_use() {
    shard_->drop();
}

}  // namespace coracle::http::detail
