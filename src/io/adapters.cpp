#include "io/slices.hpp"

#include <coracle/io/adapters.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/writer.hpp>

#include <algorithm>

namespace coracle::io {

task<std::expected<std::size_t, error>> limited_source::read_some(std::span<char> into) {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
    if (most == 0) co_return std::size_t{0};
    auto n = co_await from_->read_some(into.first(most));
    if (n) left_ -= *n;
    co_return n;
}

task<std::expected<std::size_t, error>> counted_source::read_some(std::span<char> into) {
    auto n = co_await from_->read_some(into);
    if (n) bytes_ += *n;
    co_return n;
}

task<std::expected<std::size_t, error>> counted_source::fill(buffer& into, std::size_t capacity) {
    auto n = co_await from_->fill(into, capacity);
    if (n) bytes_ += *n;
    co_return n;
}

task<std::expected<void, error>> counted_sink::write(std::span<slice> pieces) {
    const std::size_t size = detail::size_of(pieces);
    auto written = co_await to_->write(pieces);
    if (written) bytes_ += size;
    co_return written;
}

task<std::expected<std::size_t, error>> tee_source::read_some(std::span<char> into) {
    auto n = co_await from_->read_some(into);
    if (!n || *n == 0) co_return n;
    slice piece(into.data(), *n);
    auto written = co_await copy_->write({&piece, 1});
    if (!written) co_return std::unexpected(std::move(written).error());
    co_return n;
}

task<std::expected<void, error>> tee_sink::write(std::span<slice> pieces) {
    std::vector<slice> again(pieces.begin(), pieces.end());
    auto first = co_await first_->write(pieces);
    if (!first) co_return first;
    co_return co_await second_->write(again);
}

task<std::expected<void, error>> tee_sink::flush() {
    auto first = co_await first_->flush();
    if (!first) co_return first;
    co_return co_await second_->flush();
}

task<std::expected<std::size_t, error>> concatenated_source::read_some(std::span<char> into) {
    for (; current_ != all_.size(); ++current_) {
        auto n = co_await all_[current_]->read_some(into);
        if (!n || *n != 0) co_return n;
    }
    co_return std::size_t{0};
}

task<std::expected<std::size_t, error>> concatenated_source::fill(buffer& into,
                                                                  std::size_t capacity) {
    for (; current_ != all_.size(); ++current_) {
        auto n = co_await all_[current_]->fill(into, capacity);
        if (!n || *n != 0) co_return n;
    }
    co_return std::size_t{0};
}

task<std::expected<std::size_t, error>> reader_source::read_some(std::span<char> into) {
    auto some = co_await as_result(from_->peek(1));
    if (!some) co_return std::unexpected(std::move(some).error());
    const std::size_t n = from_->buffered().copy(into.data(), into.size());
    auto consumed = co_await as_result(from_->skip(n));
    if (!consumed) co_return std::unexpected(std::move(consumed).error());
    co_return n;
}

task<std::expected<void, error>> writer_sink::write(std::span<slice> pieces) {
    for (const slice& s : pieces) {
        auto written = co_await as_result(to_->write({s.data, s.size}));
        if (!written) co_return written;
    }
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> writer_sink::flush() {
    co_return co_await as_result(to_->flush());
}

}  // namespace coracle::io
