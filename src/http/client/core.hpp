#pragma once

#include "http/client/transport.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/cookie_jar.hpp>
#include <coracle/runtime/background.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

class client_shard;

/// Whether a list as that of `client_options::safe_protocols` has `scheme`.
bool lists_protocol(std::string_view list, std::string_view scheme) noexcept;
/// What is wrong with options that nothing else looks at before they go into a head.
std::optional<error> problem_of(const client_options& o);

/// What the loops that use a client have in common. Thread-safe.
class client_core final : public std::enable_shared_from_this<client_core> {
public:
    client_core(client_options o, pool_options p, background_options b);
    ~client_core();
    client_core(const client_core&) = delete;
    client_core& operator=(const client_core&) = delete;

    client_options defaults() const;
    void set_defaults(client_options o);
    /// As text. Whoever changes other keys at the same time loses none.
    std::expected<void, error> change_defaults(std::string_view text);
    /// The options that calls begin with, and their number, which changes with them.
    std::shared_ptr<const prepared_options> prepared() const;
    std::uint64_t generation() const noexcept {
        return generation_.load(std::memory_order_acquire);
    }
    /// The way that calls with these options take.
    std::expected<std::shared_ptr<const transport>, error> way_for(const client_options& o);

    const pool_options& pool() const noexcept { return pool_; }
    http::cookie_jar& jar() noexcept { return *jar_; }
    void share_jar(std::shared_ptr<http::cookie_jar> j) noexcept { jar_ = std::move(j); }

    /// What this loop has; null when the client is gone.
    client_shard* here();
    /// The loop has ended.
    void forget(client_shard& s) noexcept;
    /// The client is gone.
    void close() noexcept;

    void intercept(unique_function<handler(handler)> around);
    /// The interceptors around the call itself; empty without.
    const handler& chain() const noexcept { return chain_; }

    /// A share of it: the client may go while a call is being started.
    std::shared_ptr<background> own_loop();
    void end_own_loop() noexcept;
    bool stop(duration limit);
    client_statistics statistics();

private:
    void prepare(client_options o);

    struct place {
        loop* on;
        client_shard* shard;
    };

    const pool_options pool_;
    const background_options background_options_;
    const connect::proxy_environment environment_;

    std::mutex changing_;  ///< taken before `guard_`
    mutable std::mutex guard_;
    std::shared_ptr<const prepared_options> prepared_;
    std::atomic<std::uint64_t> generation_{1};
    /// Of options that single calls had, the ones used last.
    std::vector<std::shared_ptr<const transport>> ways_;
    std::vector<place> places_;
    bool closed_ = false;
    bool ended_ = false;  ///< takes no calls for its own loop
    std::shared_ptr<background> background_;

    std::shared_ptr<http::cookie_jar> jar_ = std::make_shared<http::cookie_jar>();
    std::vector<unique_function<handler(handler)>> interceptors_;
    handler chain_;
};

}  // namespace coracle::http::detail
