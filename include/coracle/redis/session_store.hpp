#pragma once

#include <coracle/http/middleware/session_store.hpp>
#include <coracle/redis/client.hpp>

#include <memory>
#include <string>

namespace coracle::redis {

/// Keeps the sessions of `http::sessions` in Redis, for all processes that use the same prefix
/// there: one key for each session, which the server forgets when its time is over.
///
///     http::session_options o;
///     o.store = std::make_shared<redis::session_store>(client);
///
/// It waits as long as `client_options::command_timeout` of its client; while the server is known
/// to be away it fails at once.
class session_store final : public http::session_store {
public:
    explicit session_store(std::shared_ptr<client> c, std::string prefix = "coracle:session:");

    task<std::expected<std::optional<std::string>, error>> load(
        std::string_view key, std::chrono::seconds time_to_live) override;
    task<std::expected<void, error>> save(std::string_view key, std::string_view data,
                                          std::chrono::seconds time_to_live,
                                          http::session_save how) override;
    task<std::expected<bool, error>> remove(std::string_view key) override;

private:
    std::string name_of(std::string_view key) const { return prefix_ + std::string(key); }

    std::shared_ptr<client> client_;
    std::string prefix_;
};

}  // namespace coracle::redis
