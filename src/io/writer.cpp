#include <coracle/io/files.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/loop.hpp>

#include <new>
#include <string>

namespace coracle::io {

writer::writer(net::byte_stream& to, const writer_options& options)
    : writer(std::make_unique<stream_sink>(to), options) {}

writer::writer(fs::file& to, const writer_options& options)
    : writer(std::make_unique<file_sink>(to), options) {}

writer::~writer() {
    const loop* here = loop::current();
    if (buffer_.empty() || here == nullptr) return;
    try {
        here->log().write(
            log_layer::runtime, log_level::warning,
            format("a writer was destroyed with {} bytes that were not flushed", buffer_.size()));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): nobody hears of it
    }
}

// Returns false if it cannot get one without waiting or failing.
bool writer::take_block() noexcept {
    if (failed_) return false;
    try {
        buffer_ = buffer(options_.block);
    } catch (const std::bad_alloc&) {
        return false;  // bytes are written directly to the sink
    }
    return true;
}

std::expected<void, error> writer::fail(error e) noexcept {
    buffer_.release();
    failed_ = std::move(e);
    return std::unexpected(*failed_);
}

// Writes the buffered bytes, and then `bytes`.
task<std::expected<void, error>> writer::pass_on(std::string_view bytes) {
    if (failed_) co_return std::unexpected(*failed_);
    if (share_.used_up()) {
        auto yielded = co_await as_result(yield());
        if (!yielded) co_return fail(std::move(yielded).error());
    }
    const std::size_t size = buffer_.size() + bytes.size();
    if (size == 0) co_return std::expected<void, error>();
    // If the task is cancelled within, it is unknown how many bytes were written: the writer stays
    // failed.
    buffer held = std::move(buffer_);
    failed_ = coracle::detail::stopped_error("write");
    slice pieces[2] = {held.view(), bytes};
    const std::size_t first = held.empty() ? 1 : 0;
    const std::size_t last = bytes.empty() ? 1 : 2;
    auto written = co_await sink_->write({pieces + first, last - first});
    if (!written) co_return fail(std::move(written).error());
    failed_.reset();
    passed_on_ += size;
    share_.moved(size);
    held.clear();
    buffer_ = std::move(held);
    co_return std::expected<void, error>();
}

task<detail::buffered_write::result_type> detail::buffered_write::wait() {
    if (take()) co_return result_type();
    co_return co_await writer_->pass_on(bytes_);
}

task<detail::character_write::result_type> detail::character_write::wait() {
    if (take()) co_return result_type();
    co_return co_await writer_->pass_on({&character_, 1});
}

bool detail::print_into(writer& to, std::string_view format, const text_argument* arguments,
                        bool ends_line) {
    buffer& b = to.buffer_;
    if (!b && !to.take_block()) return false;
    const std::size_t end = ends_line ? 1 : 0;
    const std::size_t size = format_into({b.spare(), b.spare_size()}, format, arguments) + end;
    if (size > b.spare_size()) return false;
    if (ends_line) b.spare()[size - 1] = '\n';
    b.commit(size);
    return true;
}

task<std::expected<void, error>> detail::print_through(writer& to, std::string_view format,
                                                       const text_argument* arguments,
                                                       bool ends_line) {
    if (to.failed_) co_return std::unexpected(*to.failed_);
    std::string text(format_into({nullptr, 0}, format, arguments), '\0');
    format_into({text.data(), text.size()}, format, arguments);
    if (ends_line) text += '\n';
    co_return co_await as_result(to.write(text));
}

task<std::expected<void, error>> writer::flush_all() {
    auto passed = co_await pass_on({});
    if (!passed) co_return passed;
    buffer_.release();
    auto flushed = co_await sink_->flush();
    if (!flushed) co_return fail(std::move(flushed).error());
    co_return flushed;
}

task<std::expected<void, error>> writer::finish_all() {
    auto passed = co_await pass_on({});
    if (!passed) co_return passed;
    buffer_.release();
    auto finished = co_await sink_->finish();
    if (!finished) co_return fail(std::move(finished).error());
    co_return finished;
}

operation<void> writer::flush() {
    return flush_all();
}

operation<void> writer::finish() {
    return finish_all();
}

}  // namespace coracle::io
