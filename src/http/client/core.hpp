#pragma once

#include "connect/loop_parts.hpp"
#include "connect/own_loop.hpp"
#include "http/client/transport.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/cookie_jar.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

class client_shard;

/// Returns true if a list like `client_options::safe_protocols` contains `scheme`.
bool lists_protocol(std::string_view list, std::string_view scheme) noexcept;
/// Checks the options that are written into heads. Returns an error for a bad one.
std::optional<error> problem_of(const client_options& o);

/// The state of a client that all loops using it share. Thread-safe.
class client_core final : public std::enable_shared_from_this<client_core> {
public:
    client_core(client_options o, pool_options p, background_options b);
    ~client_core();
    client_core(const client_core&) = delete;
    client_core& operator=(const client_core&) = delete;

    client_options defaults() const;
    void set_defaults(client_options o);
    /// Changes options from text, atomically: concurrent changes of other keys are not lost.
    std::expected<void, error> change_defaults(std::string_view text);
    /// Returns the current options. `generation` changes each time they change.
    std::shared_ptr<const prepared_options> prepared() const;
    std::uint64_t generation() const noexcept {
        return generation_.load(std::memory_order_acquire);
    }
    /// Returns the transport for calls with these options.
    std::expected<std::shared_ptr<const transport>, error> transport_for(const client_options& o);

    const pool_options& pool() const noexcept { return pool_; }
    http::cookie_jar& jar() noexcept { return *jar_; }
    void share_jar(std::shared_ptr<http::cookie_jar> j) noexcept { jar_ = std::move(j); }

    /// Returns the client's shard on the current loop; null when the client is gone.
    client_shard* here();
    /// To be called when the loop of `s` has ended.
    void forget(client_shard& s) noexcept;
    /// To be called when the client is destroyed.
    void close() noexcept;

    void intercept(unique_function<handler(handler)> around);
    /// The interceptors around the call; empty if there are none.
    const handler& chain() const noexcept { return chain_; }

    /// Before the first request.
    void observe(call_observer o) { observers_.push_back(o); }
    const std::vector<call_observer>& observers() const noexcept { return observers_; }

    connect::detail::own_loop& own_loop() noexcept { return own_loop_; }
    client_statistics statistics();

private:
    void prepare(client_options o);
    /// Returns null if there is none. `guard_` is locked.
    std::shared_ptr<const transport> known_transport(const client_options& o);

    const pool_options pool_;
    const connect::proxy_environment environment_;
    connect::detail::loop_parts<client_core, client_shard> parts_;
    connect::detail::own_loop own_loop_;

    std::mutex changing_;  ///< locked before `guard_`
    mutable std::mutex guard_;
    std::shared_ptr<const prepared_options> prepared_;
    std::atomic<std::uint64_t> generation_{1};
    /// The transports of calls with options of their own, the one used last at the end.
    std::vector<std::shared_ptr<const transport>> transports_;

    std::shared_ptr<http::cookie_jar> jar_ = std::make_shared<http::cookie_jar>();
    std::vector<unique_function<handler(handler)>> interceptors_;
    handler chain_;
    std::vector<call_observer> observers_;
};

}  // namespace coracle::http::detail
