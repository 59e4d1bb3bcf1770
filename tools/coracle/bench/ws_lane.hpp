#pragma once

#include "lane.hpp"

#include <coracle/http/client.hpp>
#include <coracle/websocket/connect.hpp>

#include <memory>
#include <optional>
#include <string>

namespace coracle::tool::bench {

/// A WebSocket: sends a message, and waits for the next one that comes.
class ws_lane final : public lane {
public:
    ws_lane(worker& w, std::size_t index, std::shared_ptr<http::client> client)
        : lane(w, index), client_(std::move(client)) {}

private:
    task<> session() override;
    void leave() noexcept override { ws_.reset(); }
    task<bool> open();

    std::shared_ptr<http::client> client_;
    std::optional<websocket::connection> ws_;
};

}  // namespace coracle::tool::bench
