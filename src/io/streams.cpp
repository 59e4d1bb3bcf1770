#include <coracle/io/streams.hpp>
#include <coracle/net/byte_stream.hpp>

#include <algorithm>
#include <cstring>

namespace coracle::io {
namespace {

std::expected<std::size_t, error> end_or(error e) {
    if (e == errc::end_of_stream) return std::size_t{0};
    return std::unexpected(std::move(e));
}

}  // namespace

task<std::expected<std::size_t, error>> stream_source::read_some(std::span<char> into) {
    auto got =
        co_await as_result(stream_->receive(std::min(into.size(), buffer::default_capacity)));
    if (!got) co_return end_or(std::move(got).error());
    // A block may be larger than what was asked for, but what came into it is not.
    std::memcpy(into.data(), got->data(), got->size());
    co_return got->size();
}

task<std::expected<std::size_t, error>> stream_source::fill(buffer& into, std::size_t capacity) {
    const std::size_t held = into.size();
    if (held == 0) into.release();
    auto receiving =
        held == 0 ? stream_->receive(capacity) : stream_->receive_into(std::move(into));
    auto got = co_await as_result(receiving);
    if (!got) {
        // What was held goes on being held.
        into = std::move(receiving.received());
        co_return end_or(std::move(got).error());
    }
    into = std::move(*got);
    co_return into.size() - held;
}

task<std::expected<void, error>> stream_sink::write(std::span<slice> pieces) {
    auto sent = co_await as_result(stream_->send(pieces));
    if (!sent) co_return std::unexpected(std::move(sent).error());
    co_return std::expected<void, error>();
}

}  // namespace coracle::io
