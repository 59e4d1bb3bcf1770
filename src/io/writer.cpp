#include <coracle/io/files.hpp>
#include <coracle/io/streams.hpp>
#include <coracle/io/writer.hpp>
#include <coracle/runtime/loop.hpp>

#include <string>

namespace coracle::io {

writer::writer(net::byte_stream& to, const writer_options& options)
    : writer(std::make_unique<stream_sink>(to), options) {}

writer::writer(fs::file& to, const writer_options& options)
    : writer(std::make_unique<file_sink>(to), options) {}

writer::~writer() {
    const loop* here = loop::current();
    if (buffer_.empty() || here == nullptr) return;
    here->log().write(
        log_layer::runtime, log_level::warning,
        format("a writer was destroyed with {} bytes that were not flushed", buffer_.size()));
}

// False when there is none to be had without waiting or failing.
bool writer::take_block() noexcept {
    if (failed_) return false;
    try {
        buffer_ = buffer(options_.block);
    } catch (const std::bad_alloc&) {
        return false;  // what is written goes to the sink as it is
    }
    return true;
}

std::expected<void, error> writer::fail(error e) noexcept {
    buffer_.release();
    failed_ = std::move(e);
    return std::unexpected(*failed_);
}

// What is held, and `bytes` behind it.
task<std::expected<void, error>> writer::pass_on(std::string_view bytes) {
    if (failed_) co_return std::unexpected(*failed_);
    if (share_.used_up()) {
        auto turn = co_await as_result(yield());
        if (!turn) co_return fail(std::move(turn).error());
    }
    const std::size_t size = buffer_.size() + bytes.size();
    if (size == 0) co_return std::expected<void, error>();
    // If the task is stopped in there, nobody comes back to say what became of the bytes.
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

bool detail::print_into(writer& to, std::string_view format, const text_argument* arguments) {
    buffer& b = to.buffer_;
    if (!b && !to.take_block()) return false;
    const std::size_t size = format_into({b.spare(), b.spare_size()}, format, arguments);
    if (size > b.spare_size()) return false;
    b.commit(size);
    return true;
}

task<std::expected<void, error>> detail::print_through(writer& to, std::string_view format,
                                                       const text_argument* arguments) {
    if (to.failed_) co_return std::unexpected(*to.failed_);
    std::string text(format_into({nullptr, 0}, format, arguments), '\0');
    format_into({text.data(), text.size()}, format, arguments);
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
