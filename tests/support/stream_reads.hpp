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
