#include "smtp/client/connection.hpp"

#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

using namespace coracle;

namespace {

/// Says that something has come, as a stream of TLS does for a record without data.
class eager_stream final : public net::byte_stream {
public:
    explicit eager_stream(std::unique_ptr<net::byte_stream> below) : below_(std::move(below)) {}

    bool has_input() noexcept override { return true; }
    void shutdown_output() noexcept override { below_->shutdown_output(); }
    void close(bool reset) noexcept override { below_->close(reset); }
    std::int64_t try_send(std::string_view bytes) noexcept override {
        return below_->try_send(bytes);
    }
    bool watch_hangup(hangup_watch* w) noexcept override { return below_->watch_hangup(w); }
    const net::address& peer() const noexcept override { return below_->peer(); }
    loop& owner() const noexcept override { return below_->owner(); }
    bool start(io_operation& op) noexcept override { return below_->start(op); }
    void cancel(io_operation& op) noexcept override { below_->cancel(op); }

private:
    std::unique_ptr<net::byte_stream> below_;
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
