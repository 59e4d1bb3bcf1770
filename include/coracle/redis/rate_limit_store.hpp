#pragma once

#include <coracle/http/middleware/rate_limit.hpp>
#include <coracle/redis/client.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::redis {

/// Keeps the buckets of `http::rate_limit` in Redis, for all processes that use the same prefix
/// there: one key for each client, which the server forgets when its bucket is full again, and one
/// short script for each request, by the clock of the server.
///
///     http::rate_limit_options o;
///     o.store = std::make_shared<redis::rate_limit_store>(client);
///
/// The client should have a short `client_options::command_timeout`, so that a server that stands
/// still is found out by it; while the server is known to be away, nothing waits.
class rate_limit_store final : public http::rate_limit_store {
public:
    explicit rate_limit_store(std::shared_ptr<client> c, std::string prefix = "coracle:rate:");

    task<std::expected<duration, error>> take(std::string_view key,
                                              const http::token_rate& rate) override;

private:
    std::shared_ptr<client> client_;
    std::string prefix_;
};

}  // namespace coracle::redis
