#pragma once

#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>
#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::testing {

/// Gives a text in pieces of a size; may wait a turn before each, and fail once all is read.
class pieces_source final : public io::source {
public:
    explicit pieces_source(std::string_view text, std::size_t piece = SIZE_MAX, bool waits = false)
        : left_(text), piece_(piece), waits_(waits) {}

    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override {
        ++reads_;
        if (waits_) {
            auto turn = co_await as_result(yield());
            if (!turn) co_return std::unexpected(turn.error());
        }
        if (left_.empty() && failure_) co_return std::unexpected(*failure_);
        const std::size_t n = left_.copy(into.data(), std::min(into.size(), piece_));
        left_.remove_prefix(n);
        co_return n;
    }

    void fails_at_end(error why) { failure_ = std::move(why); }
    /// After an end: the text goes on.
    void grows(std::string_view text) noexcept { left_ = text; }
    std::size_t reads() const noexcept { return reads_; }

private:
    std::string_view left_;
    std::size_t piece_;
    bool waits_;
    std::optional<error> failure_;
    std::size_t reads_ = 0;
};

/// Keeps what is written; may wait a turn before each write, and fail when it is to hold more than
/// a number of bytes.
class recording_sink final : public io::sink {
public:
    explicit recording_sink(std::uint64_t room = UINT64_MAX, bool waits = false)
        : room_(room), waits_(waits) {}

    task<std::expected<void, error>> write(std::span<slice> pieces) override {
        ++writes_;
        if (waits_) {
            auto turn = co_await as_result(yield());
            if (!turn) co_return turn;
        }
        for (const slice& s : pieces) {
            if (s.size > room_ - text_.size()) {
                co_return std::unexpected(error(std::errc::no_space_on_device, "write"));
            }
            text_.append(s.data, s.size);
        }
        co_return std::expected<void, error>();
    }
    task<std::expected<void, error>> flush() override {
        ++flushes_;
        co_return std::expected<void, error>();
    }
    task<std::expected<void, error>> finish() override {
        finished_ = true;
        co_return std::expected<void, error>();
    }

    const std::string& text() const noexcept { return text_; }
    std::size_t writes() const noexcept { return writes_; }
    std::size_t flushes() const noexcept { return flushes_; }
    bool finished() const noexcept { return finished_; }

private:
    std::string text_;
    std::uint64_t room_;
    bool waits_;
    std::size_t writes_ = 0;
    std::size_t flushes_ = 0;
    bool finished_ = false;
};

}  // namespace coracle::testing
