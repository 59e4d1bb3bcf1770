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
class response_wait;

/// The place of a waiter for one response.
struct ticket : list_hook {
    response_wait* owner = nullptr;
    lookup* in = nullptr;
    std::optional<verdict> response;
};

/// Waits for the addresses of a name, of one family or both, or for its hosts for mail.
class [[nodiscard]] response_wait final : public coracle::detail::leaf<response_wait, void> {
public:
    static constexpr const char* name = "resolve";
    response_wait(resolver_state& state, const std::string& host, net::family only) noexcept;
    response_wait(resolver_state& state, const std::string& host, record_kind only) noexcept;

    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result() const noexcept { return {}; }
    void responded() noexcept;
    /// IPv6 first. Of two failures returns the more specific one.
    std::expected<std::vector<address>, error> addresses(std::uint16_t port) const;
    /// By preference; empty where the name has none.
    std::expected<std::vector<mail_host>, error> mail() const;

private:
    bool join(ticket& t, record_kind wanted) noexcept;

    resolver_state* state_;
    const std::string* host_;
    record_kind kinds_[2];
    unsigned count_ = 0;
    ticket tickets_[2];
    unsigned left_ = 0;
};

/// Waits for a permit to query name servers, and gives it back when it is destroyed.
class [[nodiscard]] query_permit final : public coracle::detail::leaf<query_permit, void> {
public:
    static constexpr const char* name = "resolve";
    explicit query_permit(resolver_state& s) noexcept : state_(&s) {}
    ~query_permit();
    query_permit(const query_permit&) = delete;
    query_permit& operator=(const query_permit&) = delete;

    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result() const noexcept { return {}; }

private:
    friend class resolver_state;
    resolver_state* state_;
    bool has_permit_ = false;
};

/// The state of a resolver. Shared with the lookups that are under way.
class resolver_state : public std::enable_shared_from_this<resolver_state> {
public:
    resolver_state(loop& owner, resolver_options o);

    loop& owner() const noexcept { return *owner_; }
    const resolver_options& options() const noexcept { return options_; }

    /// Returns true when the response is cached; otherwise `t` waits for it. Throws
    /// `std::bad_alloc`, and then nothing waits.
    bool join(ticket& t, const std::string& host, record_kind wanted);
    void leave(ticket& t) noexcept;
    void ended(lookup& l, const std::string& key, const verdict& response, duration holds) noexcept;
    /// To be called when the resolver is destroyed.
    void close() noexcept;
    void clear_cache() noexcept { cache_.clear(); }

    /// Records that the backend resolves no names, so that the files of the system are used.
    void backend_knows_no_names() noexcept { backend_knows_names_ = false; }
    bool backend_may_know_names() const noexcept { return backend_knows_names_; }

    /// Reads changed files again, not more often than `recheck`.
    void refresh();
    /// Returns the addresses of `host` in the hosts file, of both families; null: none.
    const std::vector<address>* in_hosts(std::string_view host) const;
    const std::vector<std::string>& search() const noexcept { return search_; }
    unsigned dots() const noexcept { return dots_; }
    std::size_t servers() const noexcept { return servers_.size(); }
    std::shared_ptr<name_server> server(std::size_t index);

    resolver_counters counters() const noexcept;
    void count_failure() noexcept { ++counters_.failures; }

private:
    friend class query_permit;
    void read_files();
    std::optional<std::string> read(watched_file& file);
    void adopt(name_configuration system);

    loop* owner_;
    resolver_options options_;
    response_cache cache_;
    std::map<std::string, lookup*, std::less<>> under_way_;
    watched_file hosts_file_;
    watched_file configuration_file_;
    host_table hosts_;
    std::vector<std::string> search_;
    std::vector<std::shared_ptr<name_server>> servers_;
    unsigned dots_ = 1;
    time_point refreshed_ = time_point::min();
    bool backend_knows_names_ = true;
    std::size_t permits_left_;
    intrusive_list<coracle::detail::runnable> queue_;
    resolver_counters counters_;
};

}  // namespace coracle::net::detail
