#pragma once

#include "connect/loop_parts.hpp"
#include "redis/pipeline.hpp"

#include <coracle/redis/client.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::redis::detail {

class client_core;

/// The part of a client on one loop.
class client_part final : public resident {
public:
    client_part(client_core& core, loop& owner);

    const std::shared_ptr<pipeline>& commands() const noexcept { return commands_; }
    void retire() noexcept;

    ~client_part() = default;

private:
    void loop_ended() noexcept override;
    void leave() noexcept;

    std::shared_ptr<client_core> core_;
    std::shared_ptr<pipeline> commands_;
};

/// The part of a client that its loops share. Thread-safe.
class client_core final : public std::enable_shared_from_this<client_core> {
public:
    client_core(std::string_view url, client_options o);

    const std::shared_ptr<const endpoint>& server() const noexcept { return endpoint_; }
    const client_options& options() const noexcept { return options_; }
    /// Returns the commands of this loop; null when the client is gone.
    std::shared_ptr<pipeline> here();
    /// The counts of a part that ends are kept.
    void forget(client_part& p) noexcept;
    void close() noexcept { parts_.close(shared_from_this()); }
    client_counters counters() noexcept;

private:
    client_options options_;
    std::shared_ptr<const endpoint> endpoint_;
    connect::detail::loop_parts<client_core, client_part> parts_;
    std::mutex guard_;
    client_counters ended_;
};

}  // namespace coracle::redis::detail
