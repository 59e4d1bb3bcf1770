#pragma once

#include <coracle/runtime/background.hpp>
#include <coracle/runtime/operation.hpp>
#include <coracle/smtp/client_options.hpp>
#include <coracle/smtp/error.hpp>
#include <coracle/smtp/message.hpp>

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace std {
template <class T>
class future;
}

namespace coracle::smtp {

namespace detail {

struct sending_state;

/// The future of a call. coracle/smtp/launch.hpp has the definition for `std::future`.
template <class Future>
struct launching {
    static_assert(sizeof(Future*) == 0,
                  "launch() is defined in another header, which keeps <future> out of this one: "
                  "#include <coracle/smtp/launch.hpp>");
};

}  // namespace detail

/// The outcome of a mail that a server has accepted.
struct receipt {
    std::vector<recipient_result> recipients = {};
    smtp::reply reply = {};  ///< to the end of the mail; of LMTP that of the last recipient
    std::string message_id = {};
    std::string server = {};  ///< the address that was connected to
    bool secure = false;      ///< over TLS
    bool reused = false;      ///< over a connection that had carried other mails
    unsigned attempts = 1;

    bool all_accepted() const noexcept;
};

/// A mail that a client is to send, and how: awaited, it is sent, and gives the `receipt`; or
/// throws `exception`. Or, without coroutines, `wait`, `launch` or `start` it from any thread. Lazy
/// and move-only; once.
///
/// Fails with a phase (resolve, connect, proxy, tls, send, receive), the command, the reply and
/// what became of each recipient (`smtp::failure`), the peer, and whether it is safe to send it
/// again: it is where it was certainly not accepted and may be later. When the end of the mail was
/// sent and no reply came it fails with `smtp::errc::uncertain`, which never is; of a further
/// transaction for recipients that were too many, `recipient_result::problem` says so. Without
/// `rcpt_allow_fails` nothing is sent unless all recipients are accepted. Resumes from the loop.
/// Cancelling it closes its connection; the mail may have been accepted, or not.
class [[nodiscard]] sending {
public:
    using result_type = std::expected<receipt, error>;

    sending(sending&&) noexcept;
    sending& operator=(sending&&) noexcept;
    ~sending();

    /// For the whole, with retries, in place of `client_options::total_timeout`.
    sending& timeout(duration limit) &;
    sending&& timeout(duration limit) && { return std::move(timeout(limit)); }
    /// Sends it up to `retries` times more where that is safe.
    sending& retry(unsigned retries, duration delay = std::chrono::seconds(1)) &;
    sending&& retry(unsigned retries, duration delay = std::chrono::seconds(1)) && {
        return std::move(retry(retries, delay));
    }
    /// Sends to those recipients that are accepted, when others are not.
    sending& allow_refused_recipients(bool yes = true) &;
    sending&& allow_refused_recipients(bool yes = true) && {
        return std::move(allow_refused_recipients(yes));
    }
    /// Changes options as text, as `read_options` reads it.
    sending& options(std::string_view text) &;
    sending&& options(std::string_view text) && { return std::move(options(text)); }
    /// All options, in place of those of the client.
    sending& set_options(client_options all) &;

    // Without coroutines, on the loop of the client's own. From any thread; starting never waits.
    // Once the client has been stopped or is gone `wait` and `launch` throw `exception`
    // (errc::shutting_down).

    /// Blocks until it has completed, and gives the receipt or throws `exception`. Not on the
    /// thread of a loop.
    receipt wait() &&;
    /// The future has what `wait` gives or throws. Defined in coracle/smtp/launch.hpp, which has to
    /// be included, and keeps <future> out of here.
    template <class Future = std::future<receipt>>
    auto launch() && {
        return detail::launching<Future>::begin(std::move(*this));
    }
    /// Calls `callback` with what came of it, once; on this thread, before it returns, when too
    /// many mails are under way, or the client has been stopped.
    background_call start(unique_function<void(std::expected<receipt, error>)> callback,
                          callback_on where = callback_on::callback_thread) &&;
    /// Detached: nobody hears of its end, unless by the handle.
    background_call start() &&;

    // As an operation.
    void give_errors() noexcept { gives_errors_ = true; }
    bool await_ready() { return begin().await_ready(); }
    template <coracle::detail::task_promise P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
        return running_->await_suspend(h);
    }
    receipt await_resume() { return running_->await_resume(); }
    result_type outcome() { return running_->outcome(); }

    /// Returns the owner of the loop that `wait`, `launch` and `start` use. Throws `exception`
    /// (errc::shutting_down) as they do.
    std::shared_ptr<background> own_loop() const;

    /// For the client.
    explicit sending(std::unique_ptr<detail::sending_state> state) noexcept;

private:
    operation<receipt>& begin();
    client_options& own_options();

    std::unique_ptr<detail::sending_state> state_;
    std::optional<operation<receipt>> running_;
    bool gives_errors_ = false;
};

}  // namespace coracle::smtp
