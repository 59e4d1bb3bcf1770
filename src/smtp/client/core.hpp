#pragma once

#include "connect/loop_parts.hpp"
#include "connect/own_loop.hpp"
#include "smtp/client/pool.hpp"

#include <coracle/connect/proxy_environment.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/smtp/sts_policy.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::smtp::detail {

class client_core;

/// The part of a client on one loop. Made when the loop first sends; ends with the client or the
/// loop, once no mail uses it.
class client_shard final : public resident {
public:
    client_shard(client_core& core, loop& owner);

    loop& owner() noexcept { return owner_; }
    net::resolver& names() noexcept { return *names_; }
    connection_pool& pool_for(const std::shared_ptr<const route>& by);
    pool_counters counters;
    /// From any thread.
    void add_to(client_statistics& s) const noexcept;

    void hold() noexcept { ++holders_; }
    void drop() noexcept {
        if (--holders_ == 0 && retired_) delete this;
    }
    /// Closes what waits, and ends when the last mail has.
    void retire() noexcept;

    ~client_shard() = default;

private:
    void loop_ended() noexcept override;

    std::shared_ptr<client_core> core_;
    loop& owner_;
    std::optional<net::resolver> names_;
    std::vector<std::unique_ptr<connection_pool>> pools_;
    std::size_t holders_ = 0;
    bool retired_ = false;
};

/// Keeps a shard while a mail uses it.
class shard_use {
public:
    explicit shard_use(client_shard& s) noexcept : shard_(&s) { s.hold(); }
    shard_use(const shard_use&) = delete;
    shard_use& operator=(const shard_use&) = delete;
    ~shard_use() { shard_->drop(); }
    client_shard* operator->() const noexcept { return shard_; }

private:
    client_shard* shard_;
};

/// The part of a client that its loops share. Thread-safe.
class client_core final : public std::enable_shared_from_this<client_core> {
public:
    client_core(std::string_view server, client_options o, pool_options p, background_options b);

    std::shared_ptr<const client_options> defaults() const;
    void set_defaults(client_options o);
    std::expected<void, error> change_defaults(std::string_view text);
    /// The way that mails with these options take; `o` is what `defaults` gave, or a mail's own.
    std::expected<std::shared_ptr<const route>, error> route_for(const client_options& o);
    /// The way to a host for mail, which gets no credentials.
    std::expected<std::shared_ptr<const route>, error> route_to(const std::string& host,
                                                                client_options o);

    /// Returns true for a client of "mx:", whose mail goes to the hosts of each domain.
    bool delivers_to_mx() const noexcept { return server_ && server_->kind == protocol::mx; }
    using interceptor = std::function<task<receipt>(message&, const mail_handler&)>;
    /// Before the first mail.
    void intercept(interceptor around) { interceptors_.push_back(std::move(around)); }
    const std::vector<interceptor>& interceptors() const noexcept { return interceptors_; }

    void set_policy(std::string_view domain, std::optional<sts_policy> p);
    /// The policy of a domain that holds at this time; nothing where there is none.
    std::optional<sts_policy> policy_of(const std::string& domain, std::int64_t unix_time) const;

    const pool_options& pool() const noexcept { return pool_; }

    /// Returns the part on this loop; null when the client is gone.
    client_shard* here() { return parts_.here(*this); }
    void forget(client_shard& s) noexcept { parts_.forget(s); }
    /// The client is gone.
    void close() noexcept { parts_.close(shared_from_this()); }

    connect::detail::own_loop& own_loop() noexcept { return own_loop_; }
    client_statistics statistics();

private:
    const pool_options pool_;
    const connect::proxy_environment environment_;
    const std::expected<server_address, error> server_;
    connect::detail::loop_parts<client_core, client_shard> parts_;
    connect::detail::own_loop own_loop_;

    std::expected<std::shared_ptr<const route>, error> find_route(const server_address& to,
                                                                  const client_options& o,
                                                                  std::size_t most);

    /// Returns null if there is none; `sibling` is one to another host with these options, if there
    /// is one. `guard_` is locked.
    std::shared_ptr<const route> known_route(const server_address& to, const client_options& o,
                                             std::shared_ptr<const route>* sibling);

    std::vector<interceptor> interceptors_;
    mutable std::mutex guard_;
    /// Never changed: mails that have begun go on with them.
    std::shared_ptr<const client_options> defaults_;
    std::shared_ptr<const route> default_route_;  ///< by `defaults_`; null: not known yet
    /// Routes of options that mails had, the ones used last.
    std::vector<std::shared_ptr<const route>> routes_;
    std::map<std::string, sts_policy, std::less<>> policies_;
};

}  // namespace coracle::smtp::detail
