#pragma once

#include "http/exchange/exchange.hpp"
#include "http/exchange/host.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

namespace coracle::http::detail {

/// Returns the error of a read of the body while another is under way, or of a write of the
/// response.
inline std::unexpected<error> one_at_a_time(const char* operation) noexcept {
    return std::unexpected(error(std::errc::operation_in_progress, operation));
}

/// The channel of a response: over a connection of HTTP/1, or a stream of HTTP/2. A task returns
/// true if the bytes were sent; after false nothing can follow.
class response_channel : public exchange_control {
public:
    explicit response_channel(exchange_host& host) noexcept : host_(&host) {}
    response_channel(const response_channel&) = delete;
    response_channel& operator=(const response_channel&) = delete;

    exchange_host& host() const noexcept { return *host_; }
    virtual const net::address& client_address() const noexcept = 0;

    /// Returns true if the client has left.
    bool client_gone() const noexcept { return client_gone_; }
    /// Returns true if the handler then failed, probably because the client had left.
    bool failed_when_gone() const noexcept { return failed_when_gone_; }
    /// To be called when the client has left: cancels the user's code that runs for it.
    void give_up_client() noexcept {
        client_gone_ = true;
        if (running_ != nullptr) running_->cancel();
    }
    /// The context of the user's code while it runs.
    coracle::detail::context*& running() noexcept { return running_; }
    /// Counts once that the client has left, however many waits that ended.
    void count_gone() noexcept {
        if (!std::exchange(gone_counted_, true)) host_->count(&server_counters::clients_gone);
    }
    exchange_scope* scope() noexcept final { return scope_; }
    /// Sets the tasks beside the handler; null: there can be none.
    void set_scope(exchange_scope* s) noexcept { scope_ = s; }
    /// Allows interim responses: while a handler runs.
    void take_interim(bool allowed) noexcept { takes_interim_ = allowed; }

    /// Watches for the client leaving while the user's code runs. Returns false if it has left.
    virtual bool watch_client() noexcept = 0;
    virtual void stop_watching() noexcept = 0;
    /// Returns true if the client could not understand any further bytes.
    virtual bool is_broken() const noexcept = 0;
    /// Resets it, so that the client sees that the response is incomplete.
    virtual void abandon() noexcept = 0;
    /// Returns true while a write of the response is under way. There is one at a time, beside
    /// which the body of the request may be read.
    virtual bool writes() const noexcept = 0;
    /// Set when the 100 (Continue) that is being sent is out; null when none is.
    virtual event* continuing() const noexcept { return nullptr; }

    /// Replaces a response that is not allowed in this version of HTTP.
    virtual void check_response(exchange& /*e*/) {}
    /// Sends a response whose body is in memory or in a file.
    virtual task<bool> send_bytes(exchange& e) = 0;
    virtual task<bool> send_file(exchange& e) = 0;
    /// Sends the response and switches protocols, if the client offered that.
    virtual task<bool> switch_protocols(exchange& e) = 0;
    /// Returns true if the exchange goes on in another protocol: it has not been carried out yet.
    virtual bool goes_on_upgraded() const noexcept { return false; }

    // The functions of a streamed response.

    /// Makes the head, which is sent with the first piece. `size`: the size of the body, if known.
    /// `has_body`: pieces follow, and then `end_body`.
    virtual void begin_body(exchange& e, std::optional<std::uint64_t> size, bool has_body) = 0;
    /// `sent` is set to the bytes sent, also on failure.
    virtual task<bool> send_piece(std::string_view piece, std::uint64_t& sent) = 0;
    /// Sends a part of an open file; `sent` as above.
    virtual task<std::expected<void, error>> send_file_piece(int fd, std::uint64_t offset,
                                                             std::uint64_t size,
                                                             std::uint64_t& sent) = 0;
    /// Makes the end of a body; `trailers` is null if there are none.
    virtual void end_body(const fields* trailers) = 0;
    /// Returns true if trailers can be sent.
    virtual bool has_trailers() const noexcept = 0;
    /// Sends pending bytes.
    virtual task<bool> flush() = 0;

    task<std::expected<void, error>> send_interim(const response& interim) final;
    void report_failure(std::string_view reason, bool out_of_memory) final;
    /// Logs that the file of a response ended before the announced size, or that the disk failed;
    /// nothing for failures of the connection.
    void report_file(const exchange& e, const error& why) const;

protected:
    ~response_channel() = default;

    /// Makes and sends an interim head, unless the client does not support them.
    virtual task<bool> send_interim_head(const response& interim) = 0;

    /// Resets it for another exchange.
    void reset_channel() noexcept {
        running_ = nullptr;
        scope_ = nullptr;
        client_gone_ = false;
        failed_when_gone_ = false;
        gone_counted_ = false;
        takes_interim_ = false;
    }

    bool client_gone_ = false;

private:
    exchange_host* host_;
    coracle::detail::context* running_ = nullptr;
    exchange_scope* scope_ = nullptr;
    bool failed_when_gone_ = false;
    bool gone_counted_ = false;
    bool takes_interim_ = false;
};

}  // namespace coracle::http::detail
