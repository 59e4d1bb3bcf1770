#pragma once

#include <coracle/http/response.hpp>
#include <coracle/runtime/channel.hpp>

#include <concepts>
#include <string_view>
#include <utility>

namespace coracle::http {

namespace detail {

/// Writes the values of a channel, and closes the channel when it is destroyed.
template <class T>
class channel_body {
public:
    explicit channel_body(channel<T> from) : from_(std::move(from)) {}
    channel_body(channel_body&& other) noexcept
        : from_(other.from_), owns_(std::exchange(other.owns_, false)) {}
    channel_body& operator=(channel_body&&) = delete;
    ~channel_body() {
        if (owns_) from_.close();
    }

    task<> operator()(body_writer& out) { return run(&from_, &out); }

private:
    static task<> run(channel<T>* from, body_writer* out) {
        co_await out->flush();
        while (auto piece = co_await from->receive()) co_await out->write(*piece);
    }

    channel<T> from_;
    bool owns_ = true;
};

}  // namespace detail

/// A response whose body is what is sent into `pieces`, from any loop or thread, until it is closed
/// there: `send` and `send_blocking` wait while the client takes nothing. When the client goes away
/// or the response is dropped, the channel is closed from here: then they fail with
/// `std::errc::broken_pipe`. The head goes out at once. `type` is as for `stream`.
template <class T>
    requires std::convertible_to<const T&, std::string_view>
response stream_from(channel<T> pieces, std::string_view type = "application/octet-stream") {
    return stream(detail::channel_body<T>(std::move(pieces)), type);
}

}  // namespace coracle::http
