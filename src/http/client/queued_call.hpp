#pragma once

#include "http/client/call_state.hpp"
#include "http/client/pool.hpp"
#include "http/client/shard.hpp"

#include <coracle/runtime/detail/background_work.hpp>

#include <memory>
#include <optional>

namespace coracle::http::detail {

/// A call on a client's own loop. While it waits for a connection it takes little memory: its
/// parameters and a place in the queue.
class queued_call {
public:
    explicit queued_call(owned_call c) noexcept : call_(std::move(c)) {
        call_->goes_elsewhere = true;
    }
    queued_call(queued_call&& other) noexcept
        : call_(std::move(other.call_)) {}  ///< only before `admit`

    bool admit(coracle::detail::admission& to) noexcept;
    void withdraw() noexcept { place_.reset(); }
    task<std::expected<full_response, error>> operator()() noexcept {
        return make_full_call(call_.get(), nullptr);
    }

private:
    /// The place in the queue.
    class place final : public connection_request {
    public:
        place(origin& o, coracle::detail::admission& to) noexcept
            : connection_request(o), to_(to) {}
        /// At `due` the call begins without a place, and fails with a timeout.
        void end_at(time_point due) {
            if (due == time_point::max()) return;
            limit_ = std::make_unique<time_limit>(*this);
            limit_->arm(due);
        }

    private:
        class time_limit final : public deadline, public coracle::detail::pooled {
        public:
            explicit time_limit(place& p) noexcept : deadline(p.at().pool().owner()), place_(p) {}

        private:
            void expired() noexcept override {
                place_.withdraw();
                place_.to_.admitted();
            }
            place& place_;
        };

        void served() noexcept override {
            limit_.reset();
            to_.admitted();
        }

        coracle::detail::admission& to_;
        std::unique_ptr<time_limit> limit_;
    };

    time_point waits_until(const client_options& o, time_point now) const noexcept;
    bool has_to_wait(client_shard& here, coracle::detail::admission& to);

    owned_call call_;
    std::optional<shard_use> shard_;
    std::optional<place> place_;
};

}  // namespace coracle::http::detail
