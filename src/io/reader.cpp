#include <coracle/io/files.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/runtime/this_task.hpp>

#include <algorithm>
#include <cassert>

namespace coracle::io {
namespace {

error beyond(const char* operation, const char* limit) {
    error e(errc::limit_exceeded, operation);
    return std::move(e.on(limit));
}

error ended_early(const char* operation, std::uint64_t bytes) {
    error e(errc::end_of_stream, operation);
    return std::move(e.after_bytes(bytes));
}

}  // namespace

reader::reader(net::byte_stream& from, const reader_options& options)
    : reader(std::make_unique<stream_source>(from), options) {}

reader::reader(fs::file& from, const reader_options& options)
    : reader(std::make_unique<file_source>(from), options) {}

// Reads more bytes from the source. Returns false at its end.
task<std::expected<bool, error>> reader::refill() {
    if (share_.used_up()) {
        auto yielded = co_await as_result(yield());
        if (!yielded) co_return std::unexpected(std::move(yielded).error());
    }
    marks_.forget();
    // To move less than half a block to its front costs less than reading the rest in small pieces.
    if (!buffer_.empty() && buffer_.spare_size() < buffer_.capacity() / 2) {
        buffer_.reserve_spare(buffer_.capacity() / 2);
    }
    auto n = co_await source_->fill(buffer_, options_.block);
    if (!n) co_return std::unexpected(std::move(n).error());
    received_ += *n;
    share_.moved(*n);
    // Bytes received for a cancelled task are kept for the next read.
    if (co_await this_task::stopped())
        co_return std::unexpected(coracle::detail::stopped_error("read"));
    co_return *n != 0;
}

// Reads until `size` bytes are buffered. Returns false if the source ends before.
task<std::expected<bool, error>> reader::hold(std::size_t size) {
    while (buffer_.size() < size) {
        auto more = co_await refill();
        if (!more || !*more) co_return more;
    }
    co_return true;
}

// The last line, at the end of the source, if it may lack its delimiter.
reader::piece reader::ended(const char* operation) {
    if (buffer_.empty() || !options_.unfinished_lines) return std::nullopt;
    if (buffer_.size() > options_.longest_line) {
        return std::unexpected(beyond(operation, "reader_options::longest_line"));
    }
    delimited_ = false;
    return take_all();
}

task<reader::piece> reader::next_line(char delimiter) {
    std::size_t seen = 0;
    for (;;) {
        const std::string_view held = buffer_.view();
        const std::size_t end = held.find(delimiter, seen);
        const std::string_view line = without_return(held.substr(0, end));
        if (line.size() > options_.longest_line) {
            co_return std::unexpected(beyond("read_line", "reader_options::longest_line"));
        }
        if (end != std::string_view::npos) {
            buffer_.consume(end + 1);
            delimited_ = true;
            co_return line;
        }
        seen = held.size();
        auto more = co_await refill();
        if (!more) co_return std::unexpected(std::move(more).error());
        if (!*more) co_return ended("read_line");
    }
}

task<reader::piece> reader::next_until(std::string_view text) {
    std::size_t seen = 0;
    for (;;) {
        const std::string_view held = buffer_.view();
        const std::size_t end = held.find(text, seen);
        // The buffered bytes may end with the beginning of the text.
        const std::size_t begun = std::min(held.size(), text.size() - 1);
        const std::size_t size = end == std::string_view::npos ? held.size() - begun : end;
        if (size > options_.longest_line) {
            co_return std::unexpected(beyond("read_until", "reader_options::longest_line"));
        }
        if (end != std::string_view::npos) {
            buffer_.consume(end + text.size());
            delimited_ = true;
            co_return held.substr(0, end);
        }
        seen = size;
        auto more = co_await refill();
        if (!more) co_return std::unexpected(std::move(more).error());
        if (!*more) co_return ended("read_until");
    }
}

task<detail::line_read::result_type> detail::line_read::wait() {
    return reader_->next_line(delimiter_);
}

bool detail::read_until::take() noexcept {
    assert(!text_.empty());
    const std::string_view held = reader_->buffer_.view();
    const std::size_t end = held.find(text_);
    if (end == std::string_view::npos || end > reader_->options_.longest_line) return false;
    piece_ = held.substr(0, end);
    reader_->buffer_.consume(end + text_.size());
    reader_->delimited_ = true;
    return true;
}

task<detail::read_until::result_type> detail::read_until::wait() {
    return reader_->next_until(text_);
}

task<detail::line_skip::result_type> detail::line_skip::wait() {
    bool any = false;
    while (!take()) {
        any = !reader_->take_all().empty() || any;
        auto more = co_await reader_->refill();
        if (!more) co_return std::unexpected(std::move(more).error());
        if (!*more) co_return any;
    }
    co_return true;
}

task<detail::some_read::result_type> detail::some_read::wait() {
    if (take()) co_return bytes_;
    auto more = co_await reader_->refill();
    if (!more) co_return std::unexpected(std::move(more).error());
    co_return reader_->take_all();
}

task<detail::exact_read::result_type> detail::exact_read::wait() {
    if (size_ > reader_->options_.most_held) {
        co_return std::unexpected(beyond("read_exactly", "reader_options::most_held"));
    }
    auto all = co_await reader_->hold(size_);
    if (!all) co_return std::unexpected(std::move(all).error());
    if (!take()) co_return std::unexpected(ended_early("read_exactly", reader_->buffer_.size()));
    co_return bytes_;
}

task<detail::peek::result_type> detail::peek::wait() {
    if (size_ > reader_->options_.most_held) {
        co_return std::unexpected(beyond("peek", "reader_options::most_held"));
    }
    auto all = co_await reader_->hold(size_);
    if (!all) co_return std::unexpected(std::move(all).error());
    co_return reader_->buffer_.view().substr(0, size_);
}

task<detail::byte_skip::result_type> detail::byte_skip::wait() {
    std::uint64_t left = size_;
    for (;;) {
        const std::size_t some =
            static_cast<std::size_t>(std::min<std::uint64_t>(left, reader_->buffer_.size()));
        reader_->buffer_.consume(some);
        left -= some;
        if (left == 0) co_return result_type();
        auto more = co_await reader_->refill();
        if (!more) co_return std::unexpected(std::move(more).error());
        if (!*more) co_return std::unexpected(ended_early("skip", size_ - left));
    }
}

task<std::expected<void, error>> detail::copy_exactly(reader& from, void* into, std::size_t size) {
    auto all = co_await from.hold(size);
    if (!all) co_return std::unexpected(std::move(all).error());
    if (!*all) co_return std::unexpected(ended_early("read_struct", from.buffer_.size()));
    std::memcpy(into, from.buffer_.data(), size);
    from.buffer_.consume(size);
    co_return std::expected<void, error>();
}

namespace {

task<std::expected<std::string, error>> all_of(reader& from, std::size_t limit) {
    std::string all;
    for (;;) {
        auto some = co_await as_result(from.read_some());
        if (!some) co_return std::unexpected(std::move(some).error());
        if (some->empty()) co_return all;
        if (some->size() > limit - all.size()) {
            co_return std::unexpected(beyond("read_all", "limit"));
        }
        all += *some;
    }
}

}  // namespace

operation<std::string> reader::read_all(std::size_t limit) {
    return all_of(*this, limit);
}

async_generator<std::string_view> reader::lines(char delimiter) {
    for (;;) {
        const auto line = co_await read_line(delimiter);
        if (!line) co_return;
        co_yield *line;
    }
}

async_generator<std::string_view> reader::chunks() {
    for (;;) {
        const std::string_view some = co_await read_some();
        if (some.empty()) co_return;
        co_yield some;
    }
}

}  // namespace coracle::io
