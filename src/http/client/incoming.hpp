#pragma once

#include "http/client/shard.hpp"
#include "http/client/steady_rate.hpp"
#include "http/client/waiting_limit.hpp"
#include "http/decoding_source.hpp"

#include <coracle/http/call.hpp>
#include <coracle/http/response.hpp>
#include <coracle/http/response_info.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace coracle::http::detail {

/// Limits and timeouts for reading the body of a response.
struct body_rules {
    duration idle{};
    time_point deadline = time_point::max();
    std::uint64_t low_speed = 0;
    duration low_speed_time{};
    std::uint64_t rate = 0;
    std::uint64_t most = 0;  ///< bytes, decoded; 0: no limit
    std::size_t body_limit = 0;
    std::uint64_t block = 0;  ///< largest block to receive into, in bytes
};

/// A response after its head: reads the body from the exchange, which it holds until the body has
/// ended.
class incoming final : public response_extension, public body_source {
public:
    incoming(client_shard& s, http::method asked, response_info info, time_point started)
        : shard_(s), method_(asked), info_(std::move(info)), started_(started) {}
    incoming(const incoming&) = delete;
    incoming& operator=(const incoming&) = delete;
    ~incoming() override {
        if (is_observed_) notify_of_end(nullptr, false);
    }
    /// The size of the memory after the object, which stores a small body.
    struct tail_size {
        std::size_t bytes;
    };
    static void* operator new(std::size_t size, tail_size behind);
    static void operator delete(void* p, tail_size) noexcept { operator delete(p); }
    static void operator delete(void* p) noexcept;

    /// Stores a body that was received completely in the memory after this object.
    void store(std::string_view all, const body_rules& rules) noexcept;
    /// Reads the body from this exchange, which is released at its end.
    void read_from(lease from, const body_rules& rules);
    void responds_to_head(const response_start& head) noexcept {
        to_head_ = true;
        if (head.has_content_length) head_length_ = head.content_length;
    }
    /// Decodes the body if all of its codings are known, and removes the fields of `of` that
    /// describe the coded body.
    void decode(fields& of, const client_options& o);
    void report(unique_function<bool(const progress&)> f, const progress& p) {
        report_ = std::move(f);
        progress_ = p;
    }

    /// Notifies the observers of the client once the body ends, which may be now.
    void observed_as(http::status shown) noexcept {
        status_ = shown;
        is_observed_ = true;
        if (there_ || left_http_) notify_of_end(nullptr, true);
    }

    received_body* received() noexcept override { return &body_; }
    const std::string_view* rest() noexcept override {
        const bool plain = decoders_.empty() && !report_;
        return there_ && plain && !is_beyond(rest_.size()) ? &rest_ : nullptr;
    }
    void take_rest() noexcept override {
        rest_ = {};
        body_ = received_body();
    }
    response_info* info() noexcept override { return &info_; }
    response_info& details() noexcept { return info_; }
    std::size_t body_limit() const noexcept override { return rules_.body_limit; }
    const std::optional<std::uint64_t>* head_length() const noexcept override {
        return to_head_ ? &head_length_ : nullptr;
    }

    task<std::expected<std::string_view, error>> read() override;
    std::optional<std::uint64_t> length() const noexcept override;
    const fields* trailers() const noexcept override { return trailers_.get(); }
    error refused(error why) override;

    /// Says that the rest is read for the sake of the connection: no failure of it is the call's.
    void begin_draining() noexcept { is_drained_ = true; }
    /// Returns true if reading the rest keeps the connection, and is not known to take more than
    /// `bytes` bytes.
    bool may_be_drained(std::uint64_t bytes) const noexcept {
        if (exchange_ && !exchange_->may_be_followed()) return false;
        const auto left = length();
        return !left || *left <= bytes;
    }
    /// Returns true if nothing more is to come from the server.
    bool all_received() const noexcept {
        return !exchange_ || exchange_->body_ended() || exchange_->body_left() == 0u;
    }
    /// Keeps the exchange after a switch of protocols, for `detach`.
    void keeps_for_upgrade(lease from) noexcept {
        exchange_ = std::move(from);
        left_http_ = true;
    }
    std::optional<detached_connection> detach() noexcept override;

private:
    std::expected<std::string_view, error> next_piece();
    std::expected<std::string_view, error> lend(std::string_view piece);
    std::expected<void, error> watch_speed();
    std::expected<void, error> take(std::size_t bytes);
    bool is_beyond(std::uint64_t bytes) const noexcept {
        return rules_.most != 0 && bytes > rules_.most;
    }
    std::expected<std::string_view, error> take_received();
    task<std::expected<void, error>> receive_more();
    task<std::expected<void, error>> keep_to_rate();
    bool watches_speed() const noexcept {
        return rules_.low_speed != 0 && rules_.low_speed_time > duration::zero();
    }
    /// The time until the body counts as too slow.
    duration speed_patience() const noexcept { return rules_.low_speed_time - slow_time_; }
    void finish();
    void notify_of_end(const error* failure, bool is_whole) noexcept;
    /// Ends the body with an error, which this and later reads return.
    error failed(error e);
    error stalled();

    shard_use shard_;
    http::method method_;
    response_info info_;
    time_point started_;
    received_body body_;
    std::vector<std::unique_ptr<decoding_source>> decoders_;
    std::string_view rest_;
    http::status status_{};
    bool is_observed_ = false;  ///< the observers are still to be notified
    bool is_drained_ = false;   ///< read for the sake of the connection
    bool there_ = false;
    bool to_head_ = false;
    bool left_http_ = false;
    bool reading_ = false;    ///< a read is under way
    bool receiving_ = false;  ///< so is a receive, or one was cancelled
    std::unique_ptr<error> failure_;
    std::optional<std::uint64_t> head_length_;

    lease exchange_;
    body_rules rules_;
    std::uint64_t received_ = 0;
    std::unique_ptr<fields> trailers_;
    steady_rate rate_;
    duration slow_time_{};       ///< time spent waiting since `counted_`
    std::uint64_t counted_ = 0;  ///< bytes received when that time began
    unique_function<bool(const progress&)> report_;
    progress progress_;
};

}  // namespace coracle::http::detail
