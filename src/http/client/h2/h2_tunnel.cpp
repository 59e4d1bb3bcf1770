#include "http/client/h2/h2_tunnel.hpp"

#include "http/client/h2/h2_exchange.hpp"
#include "http/client/shard.hpp"

namespace coracle::http::detail {
namespace {

/// The longest wait for the server to end its side of a tunnel that was closed.
constexpr duration farewell_patience = std::chrono::seconds(2);
/// The longest time in which the server takes none of the bytes sent before.
constexpr duration sending_patience = std::chrono::seconds(30);

}  // namespace

/// The handle of its owner: a byte stream that hides the HTTP/2 connection.
class tunnel_handle final : public net::byte_stream {
public:
    explicit tunnel_handle(client_h2_tunnel& of) noexcept : of_(&of) {}
    ~tunnel_handle() override { of_->handle_closed(); }

    void shutdown_output() noexcept override { bytes().shutdown_output(); }
    void close(bool reset = false) noexcept override { bytes().close(reset); }
    std::int64_t try_send(std::string_view text) noexcept override {
        return bytes().try_send(text);
    }
    bool has_input() noexcept override { return bytes().has_input(); }
    bool watch_hangup(hangup_watch* w) noexcept override { return bytes().watch_hangup(w); }
    const net::address& peer() const noexcept override { return of_->bytes().peer(); }
    loop& owner() const noexcept override { return of_->bytes().owner(); }
    bool start(io_operation& op) noexcept override { return bytes().start(op); }
    void cancel(io_operation& op) noexcept override { bytes().cancel(op); }

private:
    h2_tunnel& bytes() noexcept { return of_->bytes(); }

    client_h2_tunnel* of_;
};

client_h2_tunnel::client_h2_tunnel(client_h2_exchange& e, loop& owner, const net::address& peer,
                                   h2::received_content early, bool ended)
    : deadline(owner), exchange_(&e), peer_(peer),
      bytes_(*this, owner, peer_, std::move(early), ended),
      handle_(std::make_unique<tunnel_handle>(*this)) {}

client_h2_tunnel::~client_h2_tunnel() {
    disarm();
    static_cast<coracle::detail::runnable&>(*this).unlink();
}

std::unique_ptr<net::byte_stream> client_h2_tunnel::give(client_shard& of) noexcept {
    shard_.emplace(of);
    return std::move(handle_);
}

void client_h2_tunnel::handle_closed() noexcept {
    // A handle that was never given away is destroyed with the exchange.
    if (exchange_->is_released()) return;
    closed_ = true;
    bytes_.close();
    settle();
}

void client_h2_tunnel::settle_later() noexcept {
    auto& turn = static_cast<coracle::detail::runnable&>(*this);
    // Not from within an event of the session, because ending the exchange may destroy the session.
    if (closed_ && exchange_->alive() && !turn.linked()) bytes_.owner().enqueue(turn);
}

void client_h2_tunnel::run() noexcept {
    settle();
}

/// Lets sent bytes leave first, as long as the server takes some, and gives it some time to end its
/// side (RFC 8441 section 5: END_STREAM is like the end of a TCP connection).
void client_h2_tunnel::settle() noexcept {
    if (exchange_->over() || exchange_->is_lost()) {
        exchange_->release(fate::finished);
    } else if (const bool sent = exchange_->sent_all() && !exchange_->sending();
               sent != all_sent_ || !armed()) {
        all_sent_ = sent;
        unsent_ = exchange_->unsent();
        arm_in(sent ? farewell_patience : sending_patience);
    }
}

void client_h2_tunnel::expired() noexcept {
    if (all_sent_ || exchange_->unsent() == unsent_) {
        exchange_->release(fate::cancelled);
    } else {
        settle();
    }
}

bool client_h2_tunnel::carry(std::span<const std::string_view> pieces, bool end) noexcept {
    return exchange_->carry(pieces, end);
}

std::uint64_t client_h2_tunnel::peer_takes() const noexcept {
    return exchange_->peer_takes();
}

void client_h2_tunnel::consumed(std::size_t bytes) noexcept {
    exchange_->consumed(bytes);
}

void client_h2_tunnel::cut_tunnel() noexcept {
    exchange_->cut_stream();
}

}  // namespace coracle::http::detail
