#pragma once

#include "runtime/backoff.hpp"

#include <coracle/base/detail/tally.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/smtp/client_options.hpp>
#include <coracle/smtp/sending.hpp>

#include <expected>

namespace coracle::smtp::detail {

/// Attempts one after the other, while the failures are safe to try again and there are retries.
class retries {
public:
    retries(const retry_options& o, tally& counter) noexcept : options_(o), counter_(counter) {}

    /// `attempt()` gives a task; both it and this must live until the task has ended.
    template <class Attempt>
    task<std::expected<receipt, error>> run(Attempt attempt) {
        for (unsigned attempts = 1;; ++attempts) {
            auto trying = attempt();
            auto r = co_await std::move(trying);
            if (r) {
                r->attempts = attempts;
                co_return std::move(r);
            }
            error& why = r.error();
            why.on_attempt(attempts);
            if (!why.safe_to_retry() || attempts > options_.retries) co_return std::move(r);
            ++counter_;
            delay_ = coracle::detail::next_delay(delay_, options_.delay, options_.longest_delay);
            auto sleeping = sleep_for(delay_);
            auto slept = co_await as_result(sleeping);
            if (!slept) co_return std::move(r);
        }
    }

private:
    const retry_options& options_;
    tally& counter_;
    duration delay_{};  ///< the last one
};

}  // namespace coracle::smtp::detail
