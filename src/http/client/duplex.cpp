// Reading a response while its request is being sent.

#include "http/client/running_call.hpp"
#include "http/client/shared_exchange.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>

namespace coracle::http::detail {

/// The two directions of a call. Lives in the frame of `send_and_receive`.
struct running_call::directions {
    task_group* group = nullptr;
    event sending_over;
    bool sending_stopped = false;  ///< the server does not want the rest, or the caller
    bool sending_failed = false;   ///< so that no response can be expected
    std::expected<void, error> sent;
    std::expected<void, error> received;

    void stop_sending(client_exchange& e) noexcept {
        sending_stopped = true;
        group->cancel();
        e.cut();
    }
};

task<void> running_call::send_beside(directions* both) {
    auto sending = send_head_and_body();
    both->sent = co_await std::move(sending);
    if (both->sent) {
        times_.sent = since_start();
    } else if (!both->sending_stopped && !may_have_responded(both->sent.error())) {
        both->sending_failed = true;
        both->group->cancel();
    }
    both->sending_over.set();
}

task<std::expected<void, error>> running_call::await_end_of_sending(directions* both) {
    auto waiting = both->sending_over.wait();
    co_return co_await as_result(waiting);
}

/// Waits for the head of the response. If it comes before the request was sent, runs the function
/// of the call, unless the server refuses the request.
task<void> running_call::receive_beside(directions* both) {
    auto first = when_any(await_final_head(), await_end_of_sending(both));
    auto came = co_await std::move(first);
    if (came.index == 1) co_return;
    // Another head may have been parsed since.
    const bool has_begun = came.value && read_next_head() == head_state::final;
    // The new protocol begins behind the request (RFC 9110 section 7.8).
    if (has_begun && exchange_->left_http()) {
        both->received = co_await await_end_of_sending(both);
        co_return;
    }
    if (!has_begun || start_.code >= 300) {
        both->received = std::move(came.value);
        both->stop_sending(*exchange_);
        co_return;
    }
    if (tells_interim_) {
        both->received = co_await tell_interim();
        if (!both->received) {
            both->stop_sending(*exchange_);
            co_return;
        }
        // Another head may have been parsed since.
        static_cast<void>(read_next_head());
    }
    early_ = std::make_unique<response>(make_early_response());
    auto respond = std::exchange(call_.extras->on_response, nullptr);
    auto running = respond(*early_);
    both->received = co_await as_result(std::move(running));
    const auto* const rest = static_cast<incoming*>(early_->extension());
    if (both->received && rest != nullptr && rest->all_received()) {
        auto sent = when_any(await_end_of_sending(both), await_hangup());
        if ((co_await std::move(sent)).index == 0) co_return;
    }
    // The server does not take the rest, or need not, where that of the response is not wanted.
    if (!both->sending_over.is_set()) both->stop_sending(*exchange_);
}

/// Waits behind the response, of which the end alone may be missing, until the server takes no more
/// of the request.
task<std::expected<void, error>> running_call::await_hangup() {
    if (!exchange_->body_ended()) {
        exchange_wait end(*exchange_);
        auto come = co_await as_result(end);
        if (!come || !exchange_->body_ended()) co_return come;
    }
    exchange_wait more(*exchange_);
    co_return co_await as_result(more);
}

/// Makes the response, which shares the exchange with the rest of the request.
response running_call::make_early_response() {
    times_.first_byte = since_start();
    auto* const shared = new shared_exchange(std::move(exchange_));
    lease for_sending(*shared);
    exchange_ = lease(*shared);
    response r = make_response();
    exchange_ = std::move(for_sending);
    if (auth_ != nullptr) auth_->received(r.fields());
    url target = to_;
    complete_with(r);
    to_ = std::move(target);
    return r;
}

/// Sends the request, and runs the function of the call as soon as the response begins.
task<std::expected<void, error>> running_call::send_and_receive() {
    directions both;
    const auto run = [this, &both](task_group& g) {
        both.group = &g;
        g.spawn([this, &both] { return send_beside(&both); }, "request body");
        return receive_beside(&both);
    };
    auto running = with_task_group(run);
    auto ended = co_await as_result(running);
    if (early_) {
        if (!both.sent) exchange_->cut();
        exchange_.end(fate::finished);
    }
    if (both.sending_failed) co_return std::move(both.sent);
    if (!ended) co_return std::unexpected(std::move(ended).error());
    if (early_) co_return std::move(both.received);
    if (!both.received) {
        both.received.error().retry_is_safe(may_be_sent_again());
        co_return std::move(both.received);
    }
    if (both.sending_stopped) co_return std::expected<void, error>();
    co_return std::move(both.sent);
}

}  // namespace coracle::http::detail
