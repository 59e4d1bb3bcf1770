#pragma once

#include <coracle/http/request.hpp>
#include <coracle/runtime/sleep.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace coracle::testing {

/// A request with a body that comes in pieces of `step` bytes, as a handler gets it.
class received_request final : http::body_source {
public:
    received_request(std::string_view type, std::string body, std::size_t step = 16 * 1024)
        : body_(std::move(body)), step_(step) {
        if (!type.empty()) req_.fields().add("Content-Type", type);
        req_.set_body(http::received_body(this));
    }
    http::request& operator*() noexcept { return req_; }

    /// The size is announced, as by Content-Length.
    received_request& announced() noexcept {
        announced_ = true;
        return *this;
    }
    /// Behind the last byte nothing comes, and no end either.
    received_request& stalling() noexcept {
        stalls_ = true;
        return *this;
    }
    /// Bytes that were read.
    std::size_t taken() const noexcept { return at_; }

private:
    task<std::expected<std::string_view, error>> read() override {
        co_await yield();
        if (at_ == body_.size() && stalls_) co_await forever();
        // Each piece in memory of its own, so that a view kept too long is found.
        piece_ = body_.substr(at_, step_);
        at_ += piece_.size();
        co_return std::string_view(piece_);
    }
    std::optional<std::uint64_t> length() const noexcept override {
        return announced_ ? std::optional<std::uint64_t>(body_.size()) : std::nullopt;
    }

    std::string body_;
    std::string piece_;
    std::size_t step_;
    std::size_t at_ = 0;
    bool announced_ = false;
    bool stalls_ = false;
    http::request req_;
};

}  // namespace coracle::testing
