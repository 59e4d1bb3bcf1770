#pragma once

#include "net/resolver/cache.hpp"
#include "net/resolver/name_server.hpp"
#include "net/resolver/system_files.hpp"

#include <coracle/net/resolver.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::net::detail {

class lookup;
class answer_wait;

/// The place of one who waits for one answer.
struct ticket : list_hook {
    answer_wait* owner = nullptr;
    lookup* in = nullptr;
    std::optional<verdict> answer;
};

/// Waits for the addresses of a name, of one family or both.
class [[nodiscard]] answer_wait final : public coracle::detail::leaf<answer_wait, void> {
public:
    static constexpr const char* name = "resolve";
    answer_wait(resolver_state& state, const std::string& host, net::family only) noexcept;

    bool start();
    void cancel() noexcept override;
    std::expected<void, error> result() const noexcept { return {}; }
    void answered() noexcept;
    /// IPv6 first. Of two failures, the one that says more.
    std::expected<std::vector<address>, error> addresses(std::uint16_t port) const;

private:
    resolver_state* state_;
    const std::string* host_;
    net::family only_;
    ticket tickets_[2];  ///< v6, v4
    unsigned left_ = 0;
};

/// Waits for one's turn to ask name servers.
class [[nodiscard]] turn_wait final : public coracle::detail::leaf<turn_wait, void> {
public:
    static constexpr const char* name = "resolve";
    explicit turn_wait(resolver_state& s) noexcept : state_(&s) {}
    ~turn_wait();
    turn_wait(const turn_wait&) = delete;
    turn_wait& operator=(const turn_wait&) = delete;

    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result() const noexcept { return {}; }

private:
    friend class resolver_state;
    resolver_state* state_;
    bool has_turn_ = false;
};

/// What a resolver knows and does. Shared with the lookups that are under way.
class resolver_state : public std::enable_shared_from_this<resolver_state> {
public:
    resolver_state(loop& owner, resolver_options o);

    loop& owner() const noexcept { return *owner_; }
    const resolver_options& options() const noexcept { return options_; }

    /// True when the answer is there; otherwise `t` hears of it.
    bool join(ticket& t, const std::string& host, net::family wanted);
    void leave(ticket& t) noexcept;
    void ended(lookup& l, const std::string& key, const verdict& answer, duration holds);
    /// The resolver is gone.
    void close() noexcept;
    void clear_cache() noexcept { cache_.clear(); }

    /// The files of the system are of no interest where the backend knows the names.
    void backend_knows_no_names() noexcept { backend_knows_names_ = false; }
    bool backend_may_know_names() const noexcept { return backend_knows_names_; }

    /// Reads the files again that have changed, not more often than `recheck`.
    void refresh();
    /// The addresses that the hosts file has for `host`, of both families; null for none.
    const std::vector<address>* in_hosts(std::string_view host) const;
    const std::vector<std::string>& search() const noexcept { return search_; }
    unsigned dots() const noexcept { return dots_; }
    std::size_t servers() const noexcept { return servers_.size(); }
    std::shared_ptr<name_server> server(std::size_t index);

    resolver_counters counters() const noexcept;
    void count_failure() noexcept { ++counters_.failures; }

private:
    friend class turn_wait;
    void adopt(name_configuration system);

    loop* owner_;
    resolver_options options_;
    answer_cache cache_;
    std::map<std::string, lookup*, std::less<>> under_way_;
    watched_file hosts_file_;
    watched_file configuration_file_;
    host_table hosts_;
    std::vector<std::string> search_;
    std::vector<std::shared_ptr<name_server>> servers_;
    unsigned dots_ = 1;
    time_point refreshed_ = time_point::min();
    bool backend_knows_names_ = true;
    std::size_t turns_left_;
    intrusive_list<coracle::detail::runnable> queue_;
    resolver_counters counters_;
};

}  // namespace coracle::net::detail
