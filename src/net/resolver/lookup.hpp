#pragma once

#include "net/resolver/message.hpp"
#include "net/resolver/state.hpp"

#include <coracle/runtime/spawn.hpp>

#include <string>

namespace coracle::net::detail {

/// Finds the addresses of one name and one family, for all who ask for them meanwhile. A task of
/// its own, so that those who stop waiting do not end it for the others; it ends with the last of
/// them.
class lookup final : public coracle::detail::spawned {
public:
    /// `host` ends in a dot when it is absolute.
    lookup(std::shared_ptr<resolver_state> state, std::string host, net::family wanted,
           std::string key);

    void start();
    void add(ticket& t) noexcept;
    bool deserted() noexcept { return waiting_.empty(); }
    const std::string& key() const noexcept { return key_; }
    void tell(const verdict& answer) noexcept;
    void give_up() noexcept { cancel(); }

private:
    task<> find();
    /// True when the backend has answered.
    task<bool> ask_backend();
    bool look_into_hosts();
    task<> ask_name_servers();
    /// Asks all servers, as often as there are attempts, until one has a verdict.
    task<std::expected<dns_answer, error>> ask(const std::string& candidate);

    void found(std::vector<address> addresses, duration holds);
    void failed(error why, duration holds = {});
    error describe(std::error_code code) const;
    void over() noexcept override;

    std::shared_ptr<resolver_state> state_;
    std::string host_;
    net::family wanted_;
    bool absolute_;
    std::string key_;
    intrusive_list<ticket> waiting_;
    verdict answer_;
    duration holds_{};
};

}  // namespace coracle::net::detail
