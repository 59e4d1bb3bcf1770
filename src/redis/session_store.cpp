#include "redis/script.hpp"

#include <coracle/redis/session_store.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::redis {
namespace {

/// Gives the data and keeps them for longer. GETEX would do, but came with Redis 6.2 only.
constexpr std::string_view load_and_keep = R"(
local data = redis.call('GET', KEYS[1])
if data then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return data
)";

/// Redis takes no time of 0.
std::string seconds_of(std::chrono::seconds time_to_live) {
    return std::to_string(std::max<std::chrono::seconds::rep>(1, time_to_live.count()));
}

}  // namespace

session_store::session_store(std::shared_ptr<client> c, std::string prefix)
    : client_(std::move(c)), prefix_(std::move(prefix)) {}

task<std::expected<std::optional<std::string>, error>> session_store::load(
    std::string_view key, std::chrono::seconds time_to_live) {
    static const detail::script script(load_and_keep);
    const std::string name = name_of(key);
    const std::vector<std::string> arguments(1, seconds_of(time_to_live));
    auto running = script.run(*client_, name, arguments);
    auto said = co_await std::move(running);
    if (!said) co_return std::unexpected(std::move(said).error());
    if (said->is_nil()) co_return std::optional<std::string>();
    co_return std::optional<std::string>(said->take_text());
}

task<std::expected<void, error>> session_store::save(std::string_view key, std::string_view data,
                                                     std::chrono::seconds time_to_live,
                                                     http::session_save how) {
    std::vector<std::string> parts;
    parts.emplace_back("SET");
    parts.push_back(name_of(key));
    parts.emplace_back(data);
    parts.emplace_back("EX");
    parts.push_back(seconds_of(time_to_live));
    // Where there is nothing to replace the reply is nil, and all is well.
    if (how == http::session_save::replace) parts.emplace_back("XX");
    auto saving = client_->command(parts);
    auto saved = co_await as_result(saving);
    if (!saved) co_return std::unexpected(std::move(saved).error());
    co_return std::expected<void, error>();
}

task<std::expected<bool, error>> session_store::remove(std::string_view key) {
    auto removing = client_->command("DEL", name_of(key));
    auto removed = co_await as_result(removing);
    if (!removed) co_return std::unexpected(std::move(removed).error());
    co_return removed->integer() != 0;
}

}  // namespace coracle::redis
