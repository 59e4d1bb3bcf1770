#include "redis/bus_channels.hpp"

#include "redis/bus_message.hpp"
#include "redis/protocol.hpp"
#include "websocket/topic_pattern.hpp"

#include <coracle/websocket/topics.hpp>

#include <algorithm>

namespace coracle::redis::detail {
namespace {

/// Channels of one command.
constexpr std::size_t most_together = 500;

std::string_view command_for(bool by_glob, bool wanted) noexcept {
    if (by_glob) return wanted ? "PSUBSCRIBE" : "PUNSUBSCRIBE";
    return wanted ? "SUBSCRIBE" : "UNSUBSCRIBE";
}

}  // namespace

bus_channels::bus_channels(std::string_view prefix)
    : prefix_(std::string(prefix) + ':'), glob_prefix_(escape_glob(prefix_)) {}

bus_channels::key bus_channels::key_of(std::string_view pattern) const {
    if (websocket::detail::is_wild(pattern)) return {true, glob_prefix_ + glob_of(pattern)};
    return {false, channel_of(pattern)};
}

bool bus_channels::add(const std::string& pattern) {
    const key k = key_of(pattern);
    const auto [at, is_new] = channels_.try_emplace(k);
    try {
        // One that was to be given up may still stand.
        if (!at->second.announced) changed_.insert(k);
        at->second.patterns.insert(pattern);
    } catch (...) {
        if (is_new) {
            changed_.erase(k);
            channels_.erase(at);
        }
        throw;
    }
    if (is_new) ++unconfirmed_;
    return at->second.stands;
}

void bus_channels::remove(const std::string& pattern) {
    const key k = key_of(pattern);
    const auto at = channels_.find(k);
    if (at == channels_.end()) return;
    at->second.patterns.erase(pattern);
    if (!at->second.patterns.empty()) return;
    if (at->second.announced) {
        changed_.insert(k);
        return;
    }
    changed_.erase(k);
    --unconfirmed_;
    channels_.erase(at);
}

bool bus_channels::take_commands(std::string& to) {
    // Four kinds of commands, of which each has its channels.
    std::map<std::string_view, std::vector<std::string>> all;
    for (std::size_t n = 0; n < most_together && !changed_.empty(); ++n) {
        const key k = *changed_.begin();
        changed_.erase(changed_.begin());
        const auto at = channels_.find(k);
        if (at == channels_.end()) continue;
        channel& c = at->second;
        const bool wanted = !c.patterns.empty();
        if (wanted == c.announced) continue;
        all[command_for(k.first, wanted)].push_back(k.second);
        if (wanted) {
            ++owed_[k];
            c.announced = true;
            continue;
        }
        if (!c.stands) --unconfirmed_;
        channels_.erase(at);
    }
    for (const auto& [command, names] : all) {
        std::vector<std::string_view> parts = {command};
        parts.insert(parts.end(), names.begin(), names.end());
        append_command(to, parts);
    }
    return !all.empty() || !changed_.empty();
}

void bus_channels::forget_connection() {
    std::erase_if(channels_, [](const auto& c) { return c.second.patterns.empty(); });
    changed_.clear();
    owed_.clear();
    for (auto& [k, c] : channels_) {
        c.announced = false;
        c.stands = false;
        changed_.insert(k);
    }
    unconfirmed_ = channels_.size();
}

std::vector<std::string> bus_channels::confirmed(bool by_glob, std::string_view name) {
    const key k(by_glob, name);
    const auto owed = owed_.find(k);
    // An unsubscription and a later subscription may have crossed it.
    if (owed == owed_.end() || --owed->second != 0) return {};
    owed_.erase(owed);
    const auto at = channels_.find(k);
    if (at == channels_.end() || !at->second.announced || at->second.stands) return {};
    at->second.stands = true;
    --unconfirmed_;
    return {at->second.patterns.begin(), at->second.patterns.end()};
}

std::string_view bus_channels::topic_of(std::string_view name) const noexcept {
    if (!name.starts_with(prefix_)) return {};
    return name.substr(prefix_.size());
}

bool bus_channels::wants(bool by_glob, std::string_view name, std::string_view topic) const {
    const auto at = channels_.find(key(by_glob, name));
    if (at == channels_.end()) return false;
    return std::ranges::any_of(at->second.patterns, [topic](const std::string& p) {
        return websocket::topic_matches(p, topic);
    });
}

std::vector<std::string> bus_channels::patterns() const {
    std::vector<std::string> all;
    for (const auto& [k, c] : channels_)
        all.insert(all.end(), c.patterns.begin(), c.patterns.end());
    return all;
}

}  // namespace coracle::redis::detail
