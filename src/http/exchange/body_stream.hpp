#pragma once

#include "http/exchange/response_channel.hpp"

#include <memory>
#include <optional>

namespace coracle::http::detail {

/// Writes the pieces of a streamed response to its channel, checks the announced size, and knows
/// afterwards if the body is complete.
class body_stream final : public body_writer {
public:
    body_stream(response_channel& to, exchange& e) noexcept
        : channel_(&to), exchange_(&e), left_(e.res.body().size()) {}

    /// Returns true once the head has been made. Until then an interim response may go before it,
    /// and a failure may still have a response of its own.
    bool begun() const noexcept { return begun_; }
    /// Returns true if all bytes of the announced length have been written.
    bool whole() const noexcept { return left_ == std::uint64_t{0}; }
    /// Returns true if a write failed because of its file, not of the connection.
    bool file_failed() const noexcept { return failed_ == culprit::file; }

    /// Ends the body. Returns false if less than announced was written, or a write has failed.
    bool finish();

private:
    enum class culprit : std::uint8_t { none, connection, file };

    void begin();
    bool may_send_trailers() const noexcept;
    std::optional<error> problem(const char* operation, std::uint64_t size) const noexcept;
    std::unexpected<error> lose(const char* operation) noexcept;
    std::unexpected<error> fail_file(error why) noexcept;

    void add_trailer(std::string_view name, std::string_view value) override;
    task<std::expected<void, error>> write_piece(std::string_view piece) override;
    task<std::expected<void, error>> write_file_part(int fd, std::uint64_t offset,
                                                     std::uint64_t size) override;
    task<std::expected<void, error>> send_head() override;

    response_channel* channel_;
    exchange* exchange_;
    std::optional<std::uint64_t> left_;  ///< remaining bytes of a body of announced size
    std::unique_ptr<fields> trailers_;
    bool begun_ = false;
    culprit failed_ =
        culprit::none;  ///< the error of a failed write, after which nothing can follow
};

}  // namespace coracle::http::detail
