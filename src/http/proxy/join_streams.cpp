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
            if (!bytes) co_return bytes.error() == errc::end_of_stream;
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
        co_return sent.has_value();
    }

    net::byte_stream* from_;
    net::byte_stream* to_;
    buffer piece_;
    std::int64_t taken_ = 0;                 ///< of the pieces before, and one for each
    const std::int64_t* sending_ = nullptr;  ///< of this piece
    bool over_ = false;
};

/// Completes when nothing has passed for so long, or up to a sixteenth longer.
task<> wait_until_idle(const direction* one, const direction* other, duration idle) {
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
    theirs.stream->close(!ended || !to_them.over() || !to_us.over());
}

}  // namespace coracle::http::detail
