#pragma once

#include "integration/websocket/simulated_websocket.hpp"

#include <coracle/http/extract.hpp>
#include <coracle/websocket/topics.hpp>

#include <string>
#include <vector>

/// Members of topics on a simulated network: their handler, and their clients.
namespace topic_members {

using namespace simulated_websocket;

/// Subscribes to the patterns that the query names, and publishes what it hears as "topic text".
inline auto member_of(websocket::topics& topics) {
    return [&topics](websocket::connection& ws,
                     http::query<"to", std::vector<std::string>> to) -> task<> {
        std::vector<websocket::subscription> all;
        for (const std::string& pattern : *to) all.push_back(topics.subscribe(ws, pattern));
        while (auto message = co_await ws.receive()) {
            const std::string text = message->str();
            const std::size_t space = text.find(' ');
            topics.publish(text.substr(0, space), text.substr(space + 1));
        }
    };
}

inline task<websocket::connection> join(http::client& client, std::string query) {
    const std::string url = "ws://127.0.0.1:80/ws?" + query;
    auto dialing = websocket::connect(client, url);
    co_return co_await dialing;
}

inline task<std::string> hear(websocket::connection& ws) {
    auto message = co_await ws.receive();
    co_return message ? message->str() : "nothing";
}

}  // namespace topic_members
