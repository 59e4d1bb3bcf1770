#include "redis/script.hpp"

#include <coracle/redis/rate_limit_store.hpp>
#include <coracle/tls/hash.hpp>

#include <array>
#include <charconv>
#include <utility>
#include <vector>

namespace coracle::redis {
namespace {

/// Times are in milliseconds; the result is in microseconds. A bucket that would be full again is
/// as good as none.
constexpr std::string_view take_token = R"(
local rate = tonumber(ARGV[1])
local burst = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local bucket = redis.call('HMGET', KEYS[1], 'n', 't')
local tokens = tonumber(bucket[1]) or burst
local at = tonumber(bucket[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) * rate)
local wait = 0
if tokens >= 1 then
  tokens = tokens - 1
else
  wait = math.max(1, math.ceil((1 - tokens) / rate * 1000))
end
redis.call('HSET', KEYS[1], 'n', tostring(tokens), 't', tostring(now))
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - tokens) / rate) + 1)
return wait
)";

/// Names longer than this are replaced by a digest: they are a client's.
constexpr std::size_t longest_key = 100;

std::string to_text(double number) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.begin(), text.end(), number);
    return std::string(text.begin(), end.ptr);
}

}  // namespace

rate_limit_store::rate_limit_store(std::shared_ptr<client> c, std::string prefix)
    : client_(std::move(c)), prefix_(std::move(prefix)) {}

task<std::expected<duration, error>> rate_limit_store::take(std::string_view key,
                                                            const http::token_rate& rate) {
    static const detail::script script(take_token);
    constexpr double ms_per_second = 1000;
    std::string name = prefix_;
    if (key.size() > longest_key)
        name += tls::to_hex(tls::digest(tls::hash::sha256, key));
    else
        name += key;
    std::vector<std::string> arguments;
    arguments.push_back(to_text(rate.per_second / ms_per_second));
    arguments.push_back(to_text(rate.burst));
    auto running = script.run(*client_, name, arguments);
    auto said = co_await std::move(running);
    if (!said) co_return std::unexpected(std::move(said).error());
    co_return std::chrono::microseconds(said->integer());
}

}  // namespace coracle::redis
