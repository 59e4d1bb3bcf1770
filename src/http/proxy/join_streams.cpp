#include "http/proxy/join_streams.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>

#include <utility>

namespace coracle::http::detail {
namespace {

/// The bytes that one side sends and the other takes.
class direction {
public:
    direction(net::byte_stream& from, net::byte_stream& to, buffer first) noexcept
        : from_(&from), to_(&to), piece_(std::move(first)) {}

    bool over() const noexcept { return over_; }
    /// Returns true if the side that it comes from, or goes to, has failed.
    bool lost_source() const noexcept { return lost_source_; }
    bool lost_target() const noexcept { return lost_target_; }
    std::int64_t taken() const noexcept { return taken_ + (sending_ == nullptr ? 0 : *sending_); }

    /// Copies until the end. If something fails before, ends the others too.
    static task<> copy(direction* self, task_group* directions) {
        const bool in_order = co_await copy_all(self);
        if (in_order) {
            self->to_->shutdown_output();
            self->over_ = true;
        } else {
            directions->cancel();
        }
    }

private:
    static task<bool> copy_all(direction* self) {
        for (;;) {
            if (!self->piece_.empty()) {
                const bool sent = co_await pass(self);
                if (!sent) co_return false;
            }
            self->piece_.release();
            auto bytes = co_await as_result(self->from_->receive());
            if (!bytes) {
                const bool in_order = bytes.error() == errc::end_of_stream;
                self->lost_source_ = !in_order && !coracle::detail::is_cancellation(bytes.error());
                co_return in_order;
            }
            self->piece_ = *std::move(bytes);
        }
    }

    /// Sends a piece, and returns true if that was possible.
    static task<bool> pass(direction* self) {
        net::send sending = self->to_->send(self->piece_.view());
        self->sending_ = &sending.progress();
        const auto sent = co_await as_result(sending);
        // A stream of HTTP/2 takes the bytes at once, and completes when they have gone.
        self->taken_ += *std::exchange(self->sending_, nullptr) + 1;
        self->lost_target_ = !sent && !coracle::detail::is_cancellation(sent.error());
        co_return sent.has_value();
    }

    net::byte_stream* from_;
    net::byte_stream* to_;
    buffer piece_;
    std::int64_t taken_ = 0;                 ///< of the pieces before, and one for each
    const std::int64_t* sending_ = nullptr;  ///< of this piece
    bool over_ = false;
    bool lost_source_ = false;
    bool lost_target_ = false;
};

/// The time that a client has for the last bytes of a server that has broken off.
constexpr duration last_bytes = std::chrono::seconds(2);

/// Completes when nothing has passed for so long, or up to a sixteenth longer; zero: never.
task<> wait_until_idle(const direction* one, const direction* other, duration idle) {
    if (idle <= duration::zero()) co_await forever();
    constexpr int looks = 16;
    std::int64_t before = 0;
    for (int still = 0; still != looks; ++still) {
        co_await sleep_for(idle / looks);
        const std::int64_t now = one->taken() + other->taken();
        if (std::exchange(before, now) != now) still = -1;
    }
}

}  // namespace

task<> join_streams(net::byte_stream& ours, buffer received, detached_connection theirs,
                    duration idle) {
    direction to_them(ours, *theirs.stream, std::move(received));
    direction to_us(*theirs.stream, ours, std::move(theirs.received));
    const auto directions = [&](task_group& group) -> task<> {
        group.spawn([&] { return direction::copy(&to_them, &group); }, "upgraded");
        group.spawn([&] { return direction::copy(&to_us, &group); }, "upgraded");
        co_return;
    };
    auto all = when_any(with_task_group(directions), wait_until_idle(&to_them, &to_us, idle));
    const auto ended = co_await as_result(all);
    const bool in_order = ended && to_them.over() && to_us.over();
    theirs.stream->close(!in_order);
    if (in_order) co_return;
    // The client may still be receiving what came before, and a reset would drop that.
    const bool they_failed = to_us.lost_source() || to_them.lost_target();
    if (they_failed && to_us.taken() != 0) {
        auto waiting = sleep_for(last_bytes);
        static_cast<void>(co_await as_result(waiting));
    }
    // An end in order would make a part of what was sent look like the whole.
    ours.close(true);
}

}  // namespace coracle::http::detail
