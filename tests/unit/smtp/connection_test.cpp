#include "smtp/client/connection.hpp"

#include "support/stream_over.hpp"

#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <memory>

using namespace coracle;

namespace {

/// Says that something has come, as a stream of TLS does for a record without data.
class eager_stream final : public coracle::testing::stream_over {
public:
    using stream_over::stream_over;
    bool has_input() noexcept override { return true; }
};

}  // namespace

TEST(smtp_connection, takes_input_only_where_bytes_or_an_end_have_come) {
    block_on([]() -> task<> {
        auto both = net::socket_pair(*loop::current()).value();
        auto near = std::make_unique<eager_stream>(std::move(both.first));
        smtp::detail::connection c(std::move(near), smtp::client_options());
        EXPECT_FALSE(co_await c.takes_input());
        co_await both.second->send("250 late\r\n");
        EXPECT_TRUE(co_await c.takes_input());
        const auto said = c.reply_at_hand();
        EXPECT_TRUE(said && *said && (*said)->code == 250);
        both.second->close();
        EXPECT_TRUE(co_await c.takes_input());
    });
}
