#pragma once

#include "http/client/client_exchange.hpp"
#include "http/client/pool.hpp"

namespace coracle::http::detail {

/// An exchange that two hold: the one who sends its request, and the one who reads its response
/// meanwhile. It is released when both have released it. Destroys itself then.
class shared_exchange final : public client_exchange {
public:
    /// Belongs to two leases, which are made by the caller.
    explicit shared_exchange(lease of) noexcept : of_(std::move(of)) {}

    client_connection& connection() noexcept override { return of_->connection(); }
    bool reused() const noexcept override { return of_->reused(); }
    bool alive() const noexcept override { return of_->alive(); }
    bool fit() noexcept override { return of_->fit(); }
    std::uint32_t stream_id() const noexcept override { return of_->stream_id(); }

    void begin(const outgoing_head& head) override { of_->begin(head); }
    std::string request_text() const override { return of_->request_text(); }
    bool try_send(std::string_view body) override { return of_->try_send(body); }
    task<std::expected<void, error>> flush() override { return of_->flush(); }
    task<std::expected<void, error>> send(std::string_view piece, follows next) override {
        return of_->send(piece, next);
    }
    task<std::expected<void, error>> send_file(int fd, std::uint64_t offset, std::uint64_t size,
                                               follows next) override {
        return of_->send_file(fd, offset, size, next);
    }
    task<std::expected<void, error>> finish(const http::fields* trailers) override {
        return of_->finish(trailers);
    }
    void cut() noexcept override { of_->cut(); }
    std::uint64_t sent() const noexcept override { return of_->sent(); }

    head_state read_head(response_start& start, http::fields* of_interim) override {
        return of_->read_head(start, of_interim);
    }
    error head_error() const override { return of_->head_error(); }
    std::string response_text() const override { return of_->response_text(); }
    void take_fields(http::fields& to) override { of_->take_fields(to); }
    std::optional<std::string_view> take_whole_body(std::uint64_t most) noexcept override {
        return of_->take_whole_body(most);
    }
    std::expected<std::string_view, error> read_body() override { return of_->read_body(); }
    bool body_ended() const noexcept override { return of_->body_ended(); }
    bool left_http() const noexcept override { return of_->left_http(); }
    std::optional<std::uint64_t> body_left() const noexcept override { return of_->body_left(); }
    std::unique_ptr<http::fields> take_trailers() noexcept override { return of_->take_trailers(); }
    std::uint64_t received() const noexcept override { return of_->received(); }
    std::size_t unread() const noexcept override { return of_->unread(); }

    bool may_be_followed() const noexcept override { return of_->may_be_followed(); }
    bool unprocessed() const noexcept override { return of_->unprocessed(); }
    bool turned_away() const noexcept override { return of_->turned_away(); }
    bool needs_http_1() const noexcept override { return of_->needs_http_1(); }
    /// The exchange knows by itself how far both messages have come.
    void release(fate) noexcept override {
        if (--holders_ != 0) return;
        of_.end(fate::finished);
        delete this;
    }
    // Exchanges that have not begun, and those that have left HTTP, are not shared.
    bool replace() noexcept override { return false; }
    std::unique_ptr<net::byte_stream> detach(buffer&, client_shard&) noexcept override {
        return nullptr;
    }

    bool start_wait(exchange_wait& w) noexcept override { return of_->start_wait(w); }
    void cancel_wait(exchange_wait& w) noexcept override { of_->cancel_wait(w); }
    void received_by(exchange_wait& w) noexcept override { of_->received_by(w); }
    std::expected<void, error> result_of(exchange_wait& w) override { return of_->result_of(w); }

private:
    lease of_;
    unsigned holders_ = 2;
};

}  // namespace coracle::http::detail
