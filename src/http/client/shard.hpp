#pragma once

#include "http/client/pool.hpp"
#include "http/client/retry_budget.hpp"

#include <coracle/base/tally.hpp>
#include <coracle/http/client.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/runtime/resident.hpp>

#include <optional>

namespace coracle::http::detail {

class client_core;

/// What a client has on one loop: its connections, its resolver, and the options as this loop has
/// them. Made when the loop first calls; ends with the client or the loop, once no call uses it.
class client_shard final : public resident {
public:
    client_shard(client_core& core, loop& owner);
    ~client_shard();

    loop& owner() noexcept { return pool_.owner(); }
    connection_pool& pool() noexcept { return pool_; }
    net::resolver& names() noexcept { return *names_; }
    /// The client's options of now.
    const std::shared_ptr<const prepared_options>& options();
    /// `url::parse`, which most calls need not do: they ask for what the last one asked for.
    std::expected<url, error> read_url(const std::string& address);
    retry_budget& budget() noexcept { return budget_; }

    void hold() noexcept { ++holders_; }
    void drop() noexcept {
        if (--holders_ == 0 && retired_) delete this;
    }
    /// Closes what waits, and ends when the last call has.
    void retire() noexcept;

    /// From any thread.
    void add_to(client_statistics& s) const noexcept;
    struct {
        tally calls;
        tally failed;
        tally retries;
        tally redirects;
    } counts;

    /// For the parser: used between two waits only.
    h1::response_head head;

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
    std::size_t holders_ = 0;
    bool retired_ = false;
};

/// A shard that is used.
class shard_use {
public:
    explicit shard_use(client_shard& s) noexcept : shard_(&s) { s.hold(); }
    shard_use(const shard_use&) = delete;
    shard_use& operator=(const shard_use&) = delete;
    ~shard_use() { shard_->drop(); }
    client_shard* operator->() const noexcept { return shard_; }
    client_shard& operator*() const noexcept { return *shard_; }

private:
    client_shard* shard_;
};

}  // namespace coracle::http::detail
