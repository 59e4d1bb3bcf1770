#pragma once

#include <coracle/base/error.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/runtime/clock.hpp>
#include <coracle/runtime/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::http {

/// A bucket of tokens: how fast it fills, and how many it holds.
struct token_rate {
    double per_second = 0;
    double burst = 0;
};

/// The place where `rate_limit` keeps its buckets, where several processes are to share them: a
/// server such as Redis.
class rate_limit_store {
public:
    virtual ~rate_limit_store() = default;
    /// Takes a token from the bucket of a key, which is full where there is none. Gives zero, or
    /// the time until there is a token again. The key lives until the task has ended. Called from
    /// every loop that serves, also at the same time; reports failures by its result.
    virtual task<std::expected<duration, error>> take(std::string_view key,
                                                      const token_rate& rate) = 0;
};

/// The fate of a request while the store of a rate limit fails. One for which a store that works
/// has no room (`errc::limit_exceeded`) gets 503 in any case: it is one of too many.
enum class rate_limit_failure : std::uint8_t {
    admit,   ///< it is served ("open")
    refuse,  ///< it gets 503 with Retry-After ("closed")
};

struct rate_limit_options {
    /// Requests of one client in `per`, on average. Default 100.
    double requests = 100;
    duration per = std::chrono::seconds(1);
    /// Requests at once, above the average. Default 0: as many as in `per`.
    std::size_t burst = 0;
    /// The name by which clients are told apart; empty: not limited. One of more than 100 bytes
    /// stands as its SHA-256. Default: the address (`request::client()`), of IPv6 its first 64
    /// bits.
    std::function<std::string(const request&)> key = {};
    /// Names that are remembered, in 16 parts of the same size, at least one each. Beyond it the
    /// one of a part that was quiet for longest is forgotten. Default 100,000, some 15 MB.
    std::size_t keys = 100'000;
    /// Buckets that several processes share; `keys` is then without meaning. Default: in memory.
    std::shared_ptr<rate_limit_store> store = {};
    /// Tells limits apart that have one store: those of the same name share their buckets, so that
    /// limits of the same numbers need names. Default: made of `requests`, `per` and `burst`.
    std::string name = {};
    /// The longest time that a request waits for the store; then the store has failed for it.
    /// Default 250 ms.
    duration store_timeout = std::chrono::milliseconds(250);
    /// Default: it is served.
    rate_limit_failure on_failure = rate_limit_failure::admit;
};

/// Middleware that responds with 429 and Retry-After to clients that make too many requests: a
/// bucket of tokens for each, which fills at a steady rate. Shared by all loops; it takes a lock,
/// one of 16 by the name, for the time of a look-up. With a store, each request waits for that, for
/// `store_timeout` at most. Throws `exception` (invalid_argument) when a
/// number is not positive.
class rate_limit {
public:
    explicit rate_limit(rate_limit_options options = {});
    handler operator()(handler inner) const;

    /// Requests that were refused.
    std::uint64_t refused() const noexcept;
    /// Requests for which the store failed.
    std::uint64_t store_failures() const noexcept;

    class rules;

private:
    std::shared_ptr<rules> rules_;
};

}  // namespace coracle::http
