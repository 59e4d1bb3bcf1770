#include "redis/pipeline.hpp"

#include "runtime/service.hpp"

#include <coracle/redis/error.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace coracle::redis::detail {
namespace {

/// The size from which on no further command is added to one send.
constexpr std::size_t batch_size = std::size_t{64} * 1024;

using coracle::detail::is_cancellation;

error refusal(coracle::errc code, std::string_view why) {
    error e(code, "redis command");
    e.on(why).retry_is_safe(true);
    return e;
}

error out_of_memory() noexcept {
    return {std::errc::not_enough_memory, "redis connection"};
}

/// Forgets the group of a connection, however that ends.
struct ending {
    task_group** of;
    ~ending() { *of = nullptr; }
};

}  // namespace

pipeline::pipeline(loop& owner, std::shared_ptr<const endpoint> to, client_options o)
    : owner_(owner), endpoint_(std::move(to)), options_(std::move(o)),
      names_(owner, options_.resolver), delays_(options_) {
    if (options_.command_timeout <= duration::zero()) options_.command_timeout = duration::max();
    empty_.set();
}

// ---- commands

std::optional<error> pipeline::enqueue(const std::shared_ptr<request>& r) {
    if (closed_) return refusal(coracle::errc::shutting_down, "the client");
    if (!endpoint_->address()) return endpoint_->address().error();
    if (away_ && !options_.wait_while_away) return away_;
    if (unsent_.size() + sent_.size() >= options_.queued) {
        return refusal(coracle::errc::limit_exceeded, "client_options::queued");
    }
    if (bytes_ + r->size > options_.queued_bytes) {
        error full = refusal(coracle::errc::limit_exceeded, "client_options::queued_bytes");
        return std::move(full.retry_is_safe(r->size <= options_.queued_bytes));
    }
    unsent_.push_back(r);
    bytes_ += r->size;
    empty_.reset();
    work_.set();
    if (std::exchange(serving_, true)) return {};
    try {
        const auto serving = [self = shared_from_this()] { return self->serve(); };
        coracle::detail::spawn_service(owner_, serving, "redis connection");
    } catch (const std::bad_alloc&) {
        serving_ = false;
        unsent_.pop_back();
        bytes_ -= r->size;
        if (unsent_.empty() && sent_.empty()) empty_.set();
        throw;
    }
    return {};
}

/// The one that waits for a reply: a command that nobody waits for is dropped.
struct pipeline::caller {
    pipeline* of;
    std::shared_ptr<request> waits_for;
    ~caller() {
        if (!waits_for->result) of->abandon(waits_for);
    }
};

task<std::expected<reply, error>> pipeline::perform(std::shared_ptr<pipeline> self,
                                                    std::string bytes) {
    auto r = std::make_shared<request>();
    r->size = bytes.size();
    r->bytes = std::move(bytes);
    if (auto refused = self->enqueue(r)) {
        ++self->counters.refused;
        co_return std::unexpected(*std::move(refused));
    }
    ++self->counters.commands;
    const caller waits{self.get(), r};
    auto waiting = with_timeout(self->options_.command_timeout, r->done.wait());
    auto ended = co_await as_result(waiting);
    if (!r->result) {
        ++self->counters.failed;
        error why = std::move(ended).error();
        if (!is_cancellation(why)) {
            why = error(std::errc::timed_out, "redis command", phase::first_byte);
            why.on("client_options::command_timeout").retry_is_safe(!r->sent);
        }
        co_return std::unexpected(std::move(why));
    }
    std::expected<reply, error> result = *std::move(r->result);
    if (!result) ++self->counters.failed;
    if (result && result->kind() == reply_kind::error) {
        co_return std::unexpected(error_of(*result, "redis command"));
    }
    co_return std::move(result);
}

void pipeline::abandon(const std::shared_ptr<request>& r) noexcept {
    r->abandoned = true;
    if (r->sent) return;  // its place among those that are owed a reply stays
    std::erase(unsent_, r);
    bytes_ -= r->size;
    if (unsent_.empty() && sent_.empty()) empty_.set();
}

void pipeline::settle(const std::shared_ptr<request>& r,
                      std::expected<reply, error> result) noexcept {
    bytes_ -= r->size;
    if (!r->abandoned) {
        r->result.emplace(std::move(result));
        r->done.set();
    }
    if (unsent_.empty() && sent_.empty()) empty_.set();
}

void pipeline::fail_all(std::deque<std::shared_ptr<request>>& which, const error& why,
                        bool was_sent) noexcept {
    error each = why;
    each.retry_is_safe(!was_sent);
    while (!which.empty()) {
        const std::shared_ptr<request> r = std::move(which.front());
        which.pop_front();
        settle(r, std::unexpected(each));
    }
}

task<std::expected<void, error>> pipeline::drain(std::shared_ptr<pipeline> self, duration limit) {
    self->closed_ = true;
    auto waiting = with_timeout(limit, self->empty_.wait());
    auto ended = co_await as_result(waiting);
    self->close();
    if (ended || is_cancellation(ended.error())) co_return std::move(ended);
    error cut(std::errc::timed_out, "redis drain");
    co_return std::unexpected(cut);
}

void pipeline::close() noexcept {
    closed_ = true;
    const error why(coracle::errc::shutting_down, "redis command");
    fail_all(sent_, why, true);
    fail_all(unsent_, why, false);
    if (all_ != nullptr) all_->cancel();
}

// ---- the connection

void pipeline::lose(error why) noexcept {
    if (!lost_) lost_ = std::move(why);
    if (carrying_ != nullptr) carrying_->cancel();
}

task<> pipeline::serve() {
    const std::shared_ptr<pipeline> self = shared_from_this();
    const auto body = [this](task_group& g) -> task<> {
        all_ = &g;
        if (!closed_) co_await connect_again_and_again();
    };
    error why(coracle::errc::shutting_down, "redis command");
    try {
        auto serving = with_task_group(body);
        static_cast<void>(co_await as_result(serving));
    } catch (const std::bad_alloc&) {
        // The next command begins anew.
        why = out_of_memory();
    }
    all_ = nullptr;
    serving_ = false;
    fail_all(sent_, why, true);
    fail_all(unsent_, why, false);
}

task<> pipeline::connect_again_and_again() {
    for (;;) {
        bool goes_on = true;
        try {
            auto serving = serve_once();
            goes_on = co_await std::move(serving);
        } catch (const std::bad_alloc&) {
            fail_all(sent_, out_of_memory(), true);
        }
        if (!goes_on) co_return;
        // A server that accepts and closes at once must not be called without a pause.
        auto pause = sleep_for(delays_.next());
        auto slept = co_await as_result(pause);
        if (!slept) co_return;
    }
}

/// Connects, and carries commands until the connection is lost. Gives false when it is to stop.
task<bool> pipeline::serve_once() {
    auto connecting = next_connection();
    const std::unique_ptr<connection> c = co_await std::move(connecting);
    if (c == nullptr) co_return false;
    ++counters.connections;
    away_.reset();
    lost_.reset();
    auto carrying = carry(*c);
    co_await std::move(carrying);
    if (!lost_) co_return false;
    ++counters.lost;
    fail_all(sent_, *lost_, true);
    owner_.log().write(log_layer::connect, log_level::info,
                       "lost the connection to Redis at " + endpoint_->address()->name() + ": " +
                           lost_->message());
    co_return true;
}

/// Gives null when it is to stop.
task<std::unique_ptr<connection>> pipeline::next_connection() {
    for (;;) {
        auto opening = open(*endpoint_, names_);
        auto opened = co_await std::move(opening);
        if (opened) co_return *std::move(opened);
        if (is_cancellation(opened.error())) co_return nullptr;
        if (!away_) {
            owner_.log().write(log_layer::connect, log_level::warning,
                               "Redis at " + endpoint_->address()->name() +
                                   " is away: " + opened.error().message());
        }
        away_ = std::move(opened).error();
        if (!options_.wait_while_away) fail_all(unsent_, *away_, false);
        auto pause = sleep_for(delays_.next());
        auto slept = co_await as_result(pause);
        if (!slept) co_return nullptr;
    }
}

task<> pipeline::carry(connection& c) {
    const auto body = [this, &c](task_group& g) -> task<> {
        carrying_ = &g;
        g.spawn([this, &c] { return write_all(c); }, "redis writer");
        g.spawn([this] { return watch(); }, "redis watch");
        co_await read_all(c);
    };
    const ending at_the_end{&carrying_};
    auto carrying = with_task_group(body);
    static_cast<void>(co_await as_result(carrying));
}

task<> pipeline::write_all(connection& c) {
    for (;;) {
        if (unsent_.empty()) {
            work_.reset();
            co_await work_.wait();
            continue;
        }
        std::string batch;
        while (!unsent_.empty() && batch.size() < batch_size) {
            const std::shared_ptr<request> r = unsent_.front();
            batch += r->bytes;
            sent_.push_back(r);
            unsent_.pop_front();
            r->bytes = std::string();
            r->sent = true;
            r->sent_at = owner_.now();
        }
        owed_.set();
        auto sending = c.send(batch);
        auto sent = co_await std::move(sending);
        if (sent) continue;
        if (!is_cancellation(sent.error())) lose(std::move(sent).error());
        co_return;
    }
}

task<> pipeline::read_all(connection& c) {
    for (;;) {
        auto receiving = c.receive();
        auto came = co_await std::move(receiving);
        if (!came) {
            if (!is_cancellation(came.error())) lose_behind(std::move(came).error());
            co_return;
        }
        if (sent_.empty()) {
            error e(make_error_code(errc::malformed_reply), "redis reply", phase::receive);
            lose(e.on("a reply to no command"));
            co_return;
        }
        const std::shared_ptr<request> r = std::move(sent_.front());
        sent_.pop_front();
        delays_.reset();
        settle(r, *std::move(came));
    }
}

/// A reply that cannot be read is the failure of its command alone. Those behind it lose their
/// connection: they are neither too large nor too many.
void pipeline::lose_behind(error why) {
    const bool is_of_reply =
        why == coracle::errc::limit_exceeded || why == make_error_code(errc::malformed_reply);
    if (!is_of_reply || sent_.empty()) return lose(std::move(why));
    error lost(std::errc::connection_aborted, "redis", phase::receive);
    lost.on("the reply to another command: " + why.code().message());
    why.retry_is_safe(false);
    const std::shared_ptr<request> r = std::move(sent_.front());
    sent_.pop_front();
    settle(r, std::unexpected(std::move(why)));
    lose(std::move(lost));
}

/// A server that is there and does not respond would otherwise hold all that come after.
task<> pipeline::watch() {
    for (;;) {
        if (sent_.empty()) {
            owed_.reset();
            co_await owed_.wait();
            continue;
        }
        const time_point due =
            coracle::detail::later(sent_.front()->sent_at, options_.command_timeout);
        if (due > owner_.now()) {
            co_await sleep_until(due);
            continue;
        }
        error late(std::errc::timed_out, "redis reply", phase::first_byte);
        lose(late.on("client_options::command_timeout"));
        co_return;
    }
}

}  // namespace coracle::redis::detail
