#include <coracle/io/memory_pipe.hpp>
#include <coracle/runtime/event.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

namespace coracle::io {

/// A ring of bytes. Its ends keep it alive while they wait.
class detail::pipe_state {
public:
    explicit pipe_state(std::size_t capacity)
        : ring_(std::make_unique_for_overwrite<char[]>(capacity)), capacity_(capacity) {}

    std::size_t take(std::span<char> into) noexcept {
        std::size_t taken = 0;
        while (taken != into.size() && size_ != 0) {
            const std::size_t n = std::min({into.size() - taken, size_, capacity_ - begin_});
            std::copy_n(ring_.get() + begin_, n, into.data() + taken);
            begin_ = begin_ + n == capacity_ ? 0 : begin_ + n;
            size_ -= n;
            taken += n;
        }
        if (taken != 0) room_.set();
        return taken;
    }

    std::size_t put(std::string_view bytes) noexcept {
        std::size_t put = 0;
        while (put != bytes.size() && size_ != capacity_) {
            const std::size_t end = (begin_ + size_) % capacity_;
            const std::size_t n =
                std::min({bytes.size() - put, capacity_ - size_, capacity_ - end});
            std::copy_n(bytes.data() + put, n, ring_.get() + end);
            size_ += n;
            put += n;
        }
        if (put != 0) bytes_.set();
        return put;
    }

    /// Completes when the other end has moved bytes, or was destroyed.
    event_wait until_bytes() noexcept {
        bytes_.reset();
        return bytes_.wait();
    }
    event_wait until_room() noexcept {
        room_.reset();
        return room_.wait();
    }

    bool unread() const noexcept { return reader_gone_; }
    bool ended() const noexcept { return ended_; }
    const std::optional<error>& failure() const noexcept { return failure_; }

    void end(std::optional<error> why) noexcept {
        if (ended_) return;
        ended_ = true;
        failure_ = std::move(why);
        bytes_.set();
    }
    void leave_unread() noexcept {
        reader_gone_ = true;
        size_ = 0;
        room_.set();
    }

private:
    std::unique_ptr<char[]> ring_;
    std::size_t capacity_;
    std::size_t begin_ = 0;
    std::size_t size_ = 0;
    event bytes_;
    event room_;
    std::optional<error> failure_;
    bool ended_ = false;
    bool reader_gone_ = false;
};

// ---- the end that reads ------------------------------------------------------------------------

pipe_source::pipe_source(std::shared_ptr<detail::pipe_state> state) noexcept
    : state_(std::move(state)) {}
pipe_source::pipe_source(pipe_source&&) noexcept = default;
pipe_source& pipe_source::operator=(pipe_source&& other) noexcept {
    if (this != &other) {
        close();
        state_ = std::move(other.state_);
    }
    return *this;
}
pipe_source::~pipe_source() {
    close();
}

void pipe_source::close() noexcept {
    if (state_ != nullptr) state_->leave_unread();
}

task<std::expected<std::size_t, error>> pipe_source::read_some(std::span<char> into) {
    for (;;) {
        if (const std::size_t n = state_->take(into); n != 0) co_return n;
        if (state_->ended()) {
            if (state_->failure()) co_return std::unexpected(*state_->failure());
            co_return std::size_t{0};
        }
        auto waited = co_await as_result(state_->until_bytes());
        if (!waited) co_return std::unexpected(std::move(waited).error());
    }
}

// ---- the end that writes -----------------------------------------------------------------------

pipe_sink::pipe_sink(std::shared_ptr<detail::pipe_state> state) noexcept
    : state_(std::move(state)) {}
pipe_sink::pipe_sink(pipe_sink&&) noexcept = default;
pipe_sink& pipe_sink::operator=(pipe_sink&& other) noexcept {
    if (this != &other) {
        fail(error(std::errc::connection_aborted, "pipe"));
        state_ = std::move(other.state_);
    }
    return *this;
}
pipe_sink::~pipe_sink() {
    fail(error(std::errc::connection_aborted, "pipe"));
}

void pipe_sink::close() noexcept {
    state_->end(std::nullopt);
}

void pipe_sink::fail(error why) noexcept {
    if (state_ != nullptr) state_->end(std::move(why));
}

task<std::expected<void, error>> pipe_sink::write(std::span<slice> pieces) {
    for (const slice& s : pieces) {
        std::string_view left(s.data, s.size);
        while (!left.empty()) {
            if (state_->unread() || state_->ended()) {
                co_return std::unexpected(error(std::errc::broken_pipe, "write"));
            }
            left.remove_prefix(state_->put(left));
            if (left.empty()) break;
            auto waited = co_await as_result(state_->until_room());
            if (!waited) co_return std::unexpected(std::move(waited).error());
        }
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> pipe_sink::finish() {
    close();
    co_return std::expected<void, error>();
}

pipe_ends pipe(std::size_t capacity) {
    auto state = std::make_shared<detail::pipe_state>(std::max<std::size_t>(capacity, 1));
    return {pipe_source(state), pipe_sink(state)};
}

}  // namespace coracle::io
