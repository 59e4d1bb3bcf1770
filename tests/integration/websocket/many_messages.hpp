#pragma once

#include "integration/websocket/simulated_websocket.hpp"

#include <string>
#include <utility>
#include <vector>

namespace simulated_websocket {

using websocket::compression_mode;
using websocket::message_type;

/// Texts and bytes of many sizes, which compress and which do not.
inline std::vector<std::pair<message_type, std::string>> many_messages(std::uint64_t seed) {
    std::vector<std::pair<message_type, std::string>> all;
    std::uint64_t state = seed * 977 + 13;
    const auto next = [&state](std::uint64_t below) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return (state >> 33) % below;
    };
    for (int i = 0; i != 40; ++i) {
        const std::uint64_t kind = next(4);
        const std::size_t size = next(8) == 0 ? next(300'000) : next(300);
        std::string bytes;
        if (kind == 0) {
            while (bytes.size() < size) bytes += static_cast<char>(next(256));
            all.emplace_back(message_type::binary, std::move(bytes));
        } else {
            while (bytes.size() < size) bytes += "boat " + std::to_string(next(40)) + " \xce\xba ";
            all.emplace_back(message_type::text, std::move(bytes));
        }
    }
    return all;
}

/// Sends all of them to an echo, receives them meanwhile, and closes.
inline task<> exchange_all(http::client& client, compression_mode mode, std::uint64_t seed) {
    auto dialing = websocket::connect(client, "ws://127.0.0.1:80/ws");
    dialing.compression(mode);
    auto ws = co_await dialing;
    EXPECT_EQ(ws.is_compressed(), mode != compression_mode::off);
    const auto all = many_messages(seed);
    const auto sending = [&]() -> task<> {
        for (const auto& [type, bytes] : all) co_await ws.send(type, bytes);
    };
    const auto receiving = [&]() -> task<> {
        for (const auto& [type, bytes] : all) {
            auto message = co_await ws.receive();
            EXPECT_TRUE(message.has_value());
            if (!message) co_return;
            EXPECT_EQ(message->type(), type);
            EXPECT_EQ(message->data(), bytes);
        }
    };
    co_await when_all(sending(), receiving());
    co_await ws.close(websocket::close_code::normal, "bye");
    EXPECT_TRUE(ws.status().clean);
    EXPECT_FALSE(ws.status().by_peer);
    EXPECT_FALSE(ws.is_open());
    auto after = co_await ws.receive();
    EXPECT_FALSE(after.has_value());
}

}  // namespace simulated_websocket
