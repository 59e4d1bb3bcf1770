#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::redis::detail {

/// The channels that a process listens to, for patterns of topics: which commands the server has to
/// be sent, and what it has confirmed. Without a socket.
class bus_channels {
public:
    explicit bus_channels(std::string_view prefix);

    /// Adds a pattern. True: its channel stands already, and what was retained may be fetched.
    bool add(const std::string& pattern);
    void remove(const std::string& pattern);

    /// Appends the commands for what has changed since the last call, those for a limited number of
    /// channels. False when there are none.
    bool take_commands(std::string& to);
    /// A new connection knows no channel yet.
    void forget_connection();
    /// The server has confirmed a subscription (by its channel, or glob). Gives the patterns that
    /// have it.
    std::vector<std::string> confirmed(bool by_glob, std::string_view name);

    /// Returns the topic of a channel; empty where it is none.
    std::string_view topic_of(std::string_view name) const noexcept;
    std::string channel_of(std::string_view topic) const { return prefix_ + std::string(topic); }
    /// Returns true if a pattern with this glob, or without one, matches the topic.
    bool wants(bool by_glob, std::string_view name, std::string_view topic) const;

    bool all_confirmed() const noexcept { return unconfirmed_ == 0; }
    std::size_t confirmed_count() const noexcept { return channels_.size() - unconfirmed_; }
    std::vector<std::string> patterns() const;

private:
    using key = std::pair<bool, std::string>;  ///< by glob, and the name in the command
    struct channel {
        std::set<std::string, std::less<>> patterns;
        bool announced = false;
        bool stands = false;
    };
    key key_of(std::string_view pattern) const;

    std::string prefix_;
    std::string glob_prefix_;
    std::map<key, channel, std::less<>> channels_;
    std::set<key> changed_;
    /// Subscriptions that the server has been sent, and has not confirmed: of a channel that was
    /// given up meanwhile, too.
    std::map<key, unsigned> owed_;
    std::size_t unconfirmed_ = 0;
};

}  // namespace coracle::redis::detail
