#pragma once

#include "net/resolver/message.hpp"
#include "net/resolver/state.hpp"

#include <coracle/runtime/spawn.hpp>

#include <string>

namespace coracle::net::detail {

/// Finds the records of one kind of one name, for all tasks that wait for them. Runs in its own
/// task, so that a waiter that is cancelled does not end it for the others; it ends with the last
/// waiter.
class lookup final : public coracle::detail::spawned {
public:
    /// `host` ends in a dot when it is absolute.
    lookup(std::shared_ptr<resolver_state> state, std::string host, record_kind wanted,
           std::string key);

    /// The work to start it with.
    task<> find();
    void start(task<> work) noexcept;
    void add(ticket& t) noexcept;
    bool deserted() noexcept { return waiting_.empty(); }
    const std::string& key() const noexcept { return key_; }
    void tell(const verdict& response) noexcept;
    void give_up() noexcept { cancel(); }

private:
    /// Queries the backend. Returns true if that resolves names itself.
    task<bool> ask_backend();
    bool look_into_hosts();
    task<> ask_name_servers();
    /// Queries all servers, once for each attempt, until one has a definite result.
    task<std::expected<dns_response, error>> ask(const std::string& candidate, record_kind kind);
    /// Returns true if a candidate has addresses of the other family.
    task<bool> has_other_family(const std::string& candidate);

    void found(records all, duration holds);
    void failed(error why, duration holds = {}) noexcept;
    error describe(std::error_code code) const;
    void over() noexcept override;

    std::shared_ptr<resolver_state> state_;
    std::string host_;
    record_kind wanted_;
    bool absolute_;
    std::string key_;
    intrusive_list<ticket> waiting_;
    verdict result_;
    duration holds_{};
};

}  // namespace coracle::net::detail
