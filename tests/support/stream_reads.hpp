#pragma once

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/task.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace coracle::testing {

/// Reads from `s` until `text` has come: all that came.
inline task<std::string> read_until(net::byte_stream& s, std::string_view text) {
    std::string all;
    while (all.find(text) == std::string::npos) {
        buffer b = co_await s.receive();
        all += b.view();
    }
    co_return all;
}

/// Receives what `other` sends into rooms of sizes that no block has. Nothing is lost, and no end
/// is seen.
inline task<> expect_receives_with_any_room(net::byte_stream& s, net::byte_stream& other) {
    co_await other.send("abcdef");
    const buffer some = co_await s.receive(0);
    EXPECT_FALSE(some.empty());
    std::string all(some.view());
    for (const std::size_t room : {std::size_t{1} << 32, ~std::size_t{0}}) {
        co_await other.send("more");
        auto none = co_await as_result(s.receive(room));
        EXPECT_TRUE(!none && none.error() == std::errc::not_enough_memory) << room;
    }
    while (all.size() < 14) {
        const buffer rest = co_await s.receive();
        all += rest.view();
    }
    EXPECT_EQ(all, "abcdefmoremore");
}

/// Reads from `s` to its end, which comes in good order.
inline task<std::string> read_all(net::byte_stream& s) {
    std::string all;
    for (;;) {
        auto piece = co_await as_result(s.receive());
        if (!piece) {
            EXPECT_EQ(piece.error(), errc::end_of_stream) << piece.error();
            co_return all;
        }
        all += piece->view();
    }
}

}  // namespace coracle::testing
