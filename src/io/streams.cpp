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

/// An empty block with capacity for exactly `most` bytes: a stream fills all the capacity, and
/// blocks may be larger than requested.
buffer block_with_room(std::size_t most) {
    buffer block(std::min(most, buffer::default_capacity));
    if (block.capacity() > most) {
        block.commit(block.capacity() - most);
        block.consume(block.size());
    }
    return block;
}

}  // namespace

task<std::expected<std::size_t, error>> stream_source::read_some(std::span<char> into) {
    net::receive receiving = stream_->receive_into(block_with_room(into.size()));
    auto got = co_await as_result(receiving);
    if (!got) co_return end_or(std::move(got).error());
    std::memcpy(into.data(), got->data(), got->size());
    co_return got->size();
}

task<std::expected<std::size_t, error>> stream_source::fill(buffer& into, std::size_t capacity) {
    const std::size_t held = into.size();
    if (held == 0) into.release();
    net::receive receiving =
        held == 0 ? stream_->receive(capacity) : stream_->receive_into(std::move(into));
    auto got = co_await as_result(receiving);
    if (!got) {
        // The held bytes stay.
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
