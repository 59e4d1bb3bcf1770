#include "net/accept_errors.hpp"
#include "runtime/backoff.hpp"

#include <coracle/net/serve.hpp>
#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::net {
namespace {

/// Returns true when no more connections will be accepted, `serve` is cancelled, or another task
/// accepts.
bool is_of_no_use(const error& e) noexcept {
    return e == std::errc::operation_canceled || e == std::errc::bad_file_descriptor ||
           e == std::errc::invalid_argument || e == std::errc::not_a_socket ||
           e == std::errc::device_or_resource_busy;
}

/// The state shared by the connections of one `serve`. It ends after all of them.
class service {
public:
    service(listener& l, connection_handler h, const serve_options& o)
        : listener_(l), handler_(std::move(h)), options_(o) {
        options_.connections = std::max<std::size_t>(options_.connections, 1);
    }

    /// Accepts until it is cancelled or the listener fails; returns the reason.
    task<error> accept_all();
    task<> drain();
    bool is_serving() const noexcept { return open_ != 0; }

private:
    /// Counts an open connection, from before its task is created until everything of it is
    /// destroyed, also if there is no memory for the task.
    class place {
    public:
        explicit place(service& of) noexcept : of_(&of) {
            ++of.open_;
            of.empty_.reset();
        }
        place(place&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        place& operator=(place&&) = delete;
        ~place() {
            if (of_ != nullptr) of_->left();
        }

    private:
        service* of_;
    };

    /// A connection in a task of its own.
    struct session {
        service* all;
        std::unique_ptr<socket> peer;
        place counted;
        task<> operator()() { return all->serve_one(std::move(peer), std::move(counted)); }
    };

    task<> serve_one(std::unique_ptr<socket> peer, place counted);
    void left() noexcept {
        --open_;
        room_.set();
        if (open_ == 0) empty_.set();
    }
    task<std::expected<void, error>> wait_for_room();
    task<std::expected<void, error>> pause_after(const error& why);
    void count(tally serve_counters::* which) noexcept {
        if (options_.counters != nullptr) ++(options_.counters->*which);
    }
    void failed(std::string_view why) noexcept {
        count(&serve_counters::handler_errors);
        try {
            log("handler of a connection: " + std::string(why));
        } catch (const std::bad_alloc&) {
            return;  // without memory for the log line, the failure is counted at least
        }
    }
    void log(const std::string& what) const {
        listener_.owner().log().write(log_layer::net, log_level::warning, what);
    }

    listener& listener_;
    connection_handler handler_;
    serve_options options_;
    duration pause_{};
    std::size_t open_ = 0;
    event room_;
    event empty_;
    cancel_source stop_;
};

task<> service::serve_one(std::unique_ptr<socket> peer, place) {
    const auto handled = [&] { return handler_(std::move(peer)); };
    try {
        auto ended = co_await as_result(with_cancel(stop_, handled));
        if (!ended && !coracle::detail::is_cancellation(ended.error())) {
            failed(ended.error().message());
        }
    } catch (const std::exception& e) {
        failed(e.what());
    } catch (...) {
        failed("an exception of a type of its own");
    }
}

task<std::expected<void, error>> service::wait_for_room() {
    if (open_ < options_.connections) co_return {};
    count(&serve_counters::paused);
    while (open_ >= options_.connections) {
        room_.reset();
        auto waited = co_await as_result(room_.wait());
        if (!waited) co_return waited;
    }
    co_return {};
}

task<std::expected<void, error>> service::pause_after(const error& why) {
    count(&serve_counters::accept_failures);
    log(why.message());
    // Closes one waiting connection, so that its peer notices, and pauses, so that the loop does
    // not spin while the error persists.
    if (detail::is_out_of_resources(why)) listener_.refuse_one();
    pause_ = coracle::detail::next_delay(pause_, options_.first_pause, options_.longest_pause);
    co_return co_await as_result(sleep_for(pause_));
}

task<error> service::accept_all() {
    for (;;) {
        bool has_memory = true;
        try {
            auto ready = co_await wait_for_room();
            if (!ready) co_return std::move(ready).error();
            auto accepted = co_await as_result(listener_.accept());
            if (accepted) {
                pause_ = {};
                count(&serve_counters::accepted);
                session s{this, *std::move(accepted), place(*this)};
                spawn(std::move(s), "connection");
                continue;
            }
            if (is_of_no_use(accepted.error())) co_return std::move(accepted).error();
            auto paused = co_await pause_after(accepted.error());
            if (!paused) co_return std::move(paused).error();
        } catch (const std::bad_alloc&) {
            // The tasks of open connections refer to this, so it goes on; the connection was
            // closed.
            has_memory = false;
        }
        if (has_memory) continue;
        count(&serve_counters::accept_failures);
        auto pause = sleep_for(
            coracle::detail::next_delay({}, options_.first_pause, options_.longest_pause));
        auto paused = co_await as_result(pause);
        if (!paused) co_return std::move(paused).error();
    }
}

task<> service::drain() {
    if (open_ == 0) co_return;
    const auto wait = [this] { return empty_.wait(); };
    co_await as_result(shielded(options_.drain, wait));
    for (std::size_t i = 0; i != open_; ++i) count(&serve_counters::cut);
    stop_.cancel();
    // The tasks of connections refer to this, even if the task that awaits it is cancelled.
    while (open_ != 0) co_await as_result(shielded(std::chrono::hours(1), wait));
}

task<std::expected<void, error>> run(listener& l, connection_handler handler, serve_options o) {
    service all(l, std::move(handler), o);
    error why = co_await all.accept_all();
    // No handler may outlive the objects that it refers to, so without memory this tries again in
    // another turn.
    bool drained = false;
    while (!drained) {
        try {
            co_await all.drain();
            drained = true;
        } catch (const std::bad_alloc&) {
            drained = !all.is_serving();
        }
        if (drained) break;
        auto turn = yield();
        co_await as_result(turn);
    }
    co_return std::unexpected(std::move(why));
}

}  // namespace

operation<> detail::serve_with(listener& l, connection_handler handler,
                               const serve_options& options) {
    return run(l, std::move(handler), options);
}

}  // namespace coracle::net
