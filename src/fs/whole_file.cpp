#include "fs/kept_permissions.hpp"
#include "fs/replacement.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/whole_file.hpp>

#include <algorithm>
#include <utility>

namespace coracle::fs {
namespace {

using result = std::expected<void, error>;

// ---- reading ------------------------------------------------------------------------------------

/// A string that a file is read into; small at first, since most files are small.
class growing_text {
public:
    explicit growing_text(std::size_t limit) : limit_(limit) {
        text_.resize(std::min(first_room, most()));
    }

    std::size_t size() const noexcept { return size_; }
    bool is_full() const noexcept { return size_ == text_.size(); }
    bool exceeds_limit() const noexcept { return size_ > limit_; }
    std::span<char> room() noexcept { return std::span(text_).subspan(size_); }
    void took(std::size_t bytes) noexcept { size_ += bytes; }

    /// Sets the expected size, if known.
    void expect(std::uint64_t bytes) {
        // One more byte, so that the end is found without growing again.
        const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, most() - 1));
        text_.reserve(wanted + 1);
    }
    /// Grows for one more call only, because the new bytes are first filled with zeros.
    void grow() { text_.resize(std::min(text_.size() + most_bytes_a_call, most())); }

    std::string take() {
        // A small text does not keep the capacity of the first read.
        if (size_ < first_room / 2) return text_.substr(0, size_);
        text_.resize(size_);
        return std::move(text_);
    }

private:
    static constexpr std::size_t first_room = 16 * 1024;
    std::size_t most() const noexcept { return std::min(limit_, text_.max_size() - 1) + 1; }

    std::size_t limit_;
    std::size_t size_ = 0;
    std::string text_;
};

task<std::expected<std::string, error>> read_whole(std::string path, std::size_t limit) {
    auto f = co_await as_result(open(path));
    if (!f) co_return std::unexpected(std::move(f).error());
    growing_text text(limit);
    for (bool size_read = false; !text.exceeds_limit();) {
        if (text.is_full()) {
            if (!std::exchange(size_read, true)) {
                auto known = co_await as_result(f->status());
                if (!known) co_return std::unexpected(std::move(known).error());
                if (known->size > limit) break;
                text.expect(known->size);
            }
            text.grow();
        }
        auto n = co_await as_result(f->read_at(text.size(), text.room()));
        if (!n) co_return std::unexpected(std::move(n).error());
        if (*n == 0) co_return text.take();
        text.took(*n);
    }
    error e(errc::limit_exceeded, "read_text");
    co_return std::unexpected(
        std::move(e.on(path.append(", limit ").append(std::to_string(limit)).append(" bytes"))));
}

// ---- writing ------------------------------------------------------------------------------------

task<result> write_whole(std::string path, std::string text, open_flags how, unsigned mode) {
    auto f = co_await as_result(open(std::move(path), how, mode));
    if (!f) co_return std::unexpected(std::move(f).error());
    auto op = has(how, open_flags::append) ? f->append(text) : f->write_at(0, text);
    auto written = co_await as_result(op);
    if (!written) co_return written;
    co_return co_await as_result(f->close());
}

// ---- replacing ----------------------------------------------------------------------------------

/// Returns the status of the file to replace, or nothing if there is none.
task<std::expected<std::optional<file_status>, error>> status_of_old(const std::string& path) {
    auto old = co_await as_result(link_status(path));
    if (old && old->kind == file_kind::regular) co_return *old;
    if (!old && old.error() == std::errc::no_such_file_or_directory) co_return std::nullopt;
    if (!old) co_return std::unexpected(std::move(old).error());
    const bool directory = old->kind == file_kind::directory;
    error e(directory ? std::errc::is_a_directory : std::errc::invalid_argument, "replace_text");
    co_return std::unexpected(std::move(e.on(path)));
}

task<result> fill(const detail::replacement& file, const std::string& text,
                  const std::optional<file_status>& old, const std::string& path) {
    auto written = co_await as_result(file.content().write_at(0, text));
    if (!written || !old) co_return written;
    auto keeping = detail::keep_permissions(file.content(), path, *old);
    co_return co_await std::move(keeping);
}

task<result> replace_whole(std::string path, std::string text, replace_options options) {
    auto target = co_await detail::follow_links(path);
    if (!target) co_return std::unexpected(std::move(target).error());
    auto old = co_await status_of_old(*target);
    if (!old) co_return std::unexpected(std::move(old).error());

    detail::replacement file;
    const unsigned mode = *old ? 0600 : options.mode;
    auto done = co_await file.begin(*target, mode);
    if (!done) co_return done;
    done = co_await fill(file, text, *old, *target);
    if (done) done = co_await file.commit(renaming::replace, options.durable);
    if (!done) co_await file.abandon();
    co_return done;
}

}  // namespace

operation<std::string> read_text(std::string path, std::size_t limit) {
    return read_whole(std::move(path), limit);
}

operation<void> write_text(std::string path, std::string text, unsigned mode) {
    return write_whole(std::move(path), std::move(text), rewrite, mode);
}

operation<void> append_text(std::string path, std::string text, unsigned mode) {
    return write_whole(std::move(path), std::move(text), append_to, mode);
}

operation<void> replace_text(std::string path, std::string text, replace_options options) {
    return replace_whole(std::move(path), std::move(text), options);
}

}  // namespace coracle::fs
