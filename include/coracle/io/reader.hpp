#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/io/detail/buffered_operation.hpp>
#include <coracle/io/detail/delimiter_marks.hpp>
#include <coracle/io/detail/turn_share.hpp>
#include <coracle/io/source.hpp>
#include <coracle/runtime/async_generator.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace coracle::io {

class reader;

/// Options of a `reader`.
struct reader_options {
    /// Bytes of its block, which grows with what has to be held at once; from 1 to 1 GiB. Default
    /// 64 KiB.
    std::size_t block = 64 * 1024;
    /// Bytes of the longest line, or piece before a text, without what ends it; 1 GiB at most.
    /// Default 1 MiB.
    std::size_t longest_line = 1024 * 1024;
    /// Most bytes that `read_exactly` and `peek` hold at once; 1 GiB at most. Default 16 MiB.
    std::size_t most_held = 16 * 1024 * 1024;
    /// Drops a carriage return before the delimiter. Default no.
    bool drop_carriage_return = false;
    /// Returns bytes after the last delimiter as a line when the source ends. If not, they stay
    /// until the source has more, as in a log that grows. Default yes.
    bool unfinished_lines = true;
};

namespace detail {

/// The awaitable returned by `reader::read_line`.
class [[nodiscard]] line_read final
    : public buffered_operation<line_read, std::optional<std::string_view>> {
public:
    line_read(reader& r, char delimiter) noexcept : reader_(&r), delimiter_(delimiter) {}
    bool take() noexcept;
    std::optional<std::string_view> taken() const noexcept {
        return std::string_view(begin_, size_);
    }
    task<result_type> wait();

private:
    // Not side by side: loading both at once, right after two stores, would wait for these (6 ns a
    // line).
    const char* begin_ = nullptr;
    reader* reader_;
    std::size_t size_ = 0;
    char delimiter_;
};

/// The awaitable returned by `reader::read_until`.
class [[nodiscard]] read_until final
    : public buffered_operation<read_until, std::optional<std::string_view>> {
public:
    read_until(reader& r, std::string_view text) noexcept : reader_(&r), text_(text) {}
    bool take() noexcept;
    std::optional<std::string_view> taken() const noexcept { return piece_; }
    task<result_type> wait();

private:
    reader* reader_;
    std::string_view text_;
    std::string_view piece_;
};

/// The awaitable returned by `reader::skip_line`.
class [[nodiscard]] line_skip final : public buffered_operation<line_skip, bool> {
public:
    line_skip(reader& r, char delimiter) noexcept : reader_(&r), delimiter_(delimiter) {}
    bool take() noexcept;
    static bool taken() noexcept { return true; }
    task<result_type> wait();

private:
    reader* reader_;
    char delimiter_;
};

/// The awaitable returned by `reader::read_some`.
class [[nodiscard]] some_read final : public buffered_operation<some_read, std::string_view> {
public:
    explicit some_read(reader& r) noexcept : reader_(&r) {}
    bool take() noexcept;
    std::string_view taken() const noexcept { return bytes_; }
    task<result_type> wait();

private:
    reader* reader_;
    std::string_view bytes_;
};

/// The awaitable returned by `reader::read_exactly`.
class [[nodiscard]] exact_read final : public buffered_operation<exact_read, std::string_view> {
public:
    exact_read(reader& r, std::size_t size) noexcept : reader_(&r), size_(size) {}
    bool take() noexcept;
    std::string_view taken() const noexcept { return bytes_; }
    task<result_type> wait();

private:
    reader* reader_;
    std::size_t size_;
    std::string_view bytes_;
};

/// The awaitable returned by `reader::peek`.
class [[nodiscard]] peek final : public buffered_operation<peek, std::string_view> {
public:
    peek(reader& r, std::size_t size) noexcept : reader_(&r), size_(size) {}
    bool take() noexcept;
    std::string_view taken() const noexcept { return bytes_; }
    task<result_type> wait();

private:
    reader* reader_;
    std::size_t size_;
    std::string_view bytes_;
};

/// The awaitable returned by `reader::skip`.
class [[nodiscard]] byte_skip final : public buffered_operation<byte_skip, void> {
public:
    byte_skip(reader& r, std::uint64_t size) noexcept : reader_(&r), size_(size) {}
    bool take() noexcept;
    task<result_type> wait();

private:
    reader* reader_;
    std::uint64_t size_;
};

task<std::expected<void, error>> copy_exactly(reader& from, void* into, std::size_t size);

/// The awaitable returned by `reader::read_struct`.
template <class T>
class [[nodiscard]] struct_read final : public buffered_operation<struct_read<T>, T> {
public:
    explicit struct_read(reader& r) noexcept : reader_(&r) {}
    bool take() noexcept;
    T taken() const noexcept { return value_; }
    task<std::expected<T, error>> wait() {
        auto read = co_await copy_exactly(*reader_, &value_, sizeof(T));
        if (!read) co_return std::unexpected(std::move(read).error());
        co_return value_;
    }

private:
    reader* reader_;
    T value_;
};

}  // namespace detail

/// Reads lines, texts and numbers of bytes from a source, through a block of its own. An operation
/// that the block can satisfy neither suspends nor makes a frame; otherwise the source is read.
/// Results are views into the block, valid until the next call of any kind. While it waits with an
/// empty block it holds no block of a socket.
///
///     io::reader in(log);
///     while (auto line = co_await in.read_line()) count(*line);
///
/// Belongs to one loop; one operation at a time. All of them fail as the source fails, and then
/// have consumed nothing but what `skip` and `skip_line` went over; cancelling one loses no byte.
/// A line or piece that is longer than a limit is not consumed either, and fails with
/// `errc::limit_exceeded`, which names the limit. A reader of a source that never waits, such as
/// memory, lets other tasks run after every 512 KiB.
class reader {
public:
    /// `from` must outlive the reader.
    explicit reader(source& from, const reader_options& options = {}) noexcept
        : source_(&from), options_(bounded(options)) {}
    /// The reader owns `from`.
    explicit reader(std::unique_ptr<source> from, const reader_options& options = {}) noexcept
        : owned_(std::move(from)), source_(owned_.get()), options_(bounded(options)) {}
    /// Reads a stream, or a file from its beginning, which must outlive the reader.
    explicit reader(net::byte_stream& from, const reader_options& options = {});
    explicit reader(fs::file& from, const reader_options& options = {});
    reader(reader&&) noexcept = default;

    /// Returns the bytes before the next `delimiter` and consumes it too; nothing at the end. What
    /// follows the last delimiter is a line unless it is empty (see
    /// `reader_options::unfinished_lines`).
    detail::line_read read_line(char delimiter = '\n') noexcept { return {*this, delimiter}; }

    /// Reads up to a delimiter of several bytes, at least one, which must live until it completes.
    detail::read_until read_until(std::string_view text) noexcept { return {*this, text}; }

    /// Returns true if the last line or piece ended with its delimiter, and not with the source.
    bool delimited() const noexcept { return delimited_; }

    /// Returns `size` bytes, in one piece: at most `reader_options::most_held`. Fails with
    /// `errc::end_of_stream` when the source ends before; `bytes()` of the error is how many there
    /// are, and they are not consumed.
    detail::exact_read read_exactly(std::size_t size) noexcept { return {*this, size}; }

    /// Returns the buffered bytes, at least one unless it is the end.
    detail::some_read read_some() noexcept { return detail::some_read(*this); }

    /// Returns all until the end; fails when that is more than `limit` bytes. What it has gathered
    /// is lost when it fails or is cancelled.
    operation<std::string> read_all(std::size_t limit);

    /// Returns the next `size` bytes without consuming them; fewer when the source ends.
    detail::peek peek(std::size_t size) noexcept { return {*this, size}; }

    /// Consumes `size` bytes. Fails with `errc::end_of_stream` when the source ends before;
    /// `bytes()` of the error is how many there were.
    detail::byte_skip skip(std::uint64_t size) noexcept { return {*this, size}; }

    /// Consumes what is up to and with the next `delimiter`, however long; false at the end.
    detail::line_skip skip_line(char delimiter = '\n') noexcept { return {*this, delimiter}; }

    /// Returns an object as it is in memory here: the order of its bytes is the machine's. Fails as
    /// `read_exactly` does.
    template <class T>
    detail::struct_read<T> read_struct() noexcept {
        static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                      "read_struct reads objects that are nothing but their bytes");
        return detail::struct_read<T>(*this);
    }

    /// Returns the lines, or the bytes as they arrive, until the end. Each is valid until the next
    /// step. The reader must outlive them, and may be read from between two steps.
    async_generator<std::string_view> lines(char delimiter = '\n');
    async_generator<std::string_view> chunks();

    /// The bytes that were read from the source and not consumed. Valid until the next call.
    std::string_view buffered() const noexcept { return buffer_.view(); }
    /// The number of bytes consumed.
    std::uint64_t position() const noexcept { return received_ - buffer_.size(); }
    const reader_options& options() const noexcept { return options_; }

private:
    friend detail::line_read;
    friend detail::read_until;
    friend detail::line_skip;
    friend detail::some_read;
    friend detail::exact_read;
    friend detail::peek;
    friend detail::byte_skip;
    template <class T>
    friend class detail::struct_read;
    friend task<std::expected<void, error>> detail::copy_exactly(reader&, void*, std::size_t);

    using piece = std::expected<std::optional<std::string_view>, error>;

    /// No block is larger than its buffer can be.
    static reader_options bounded(reader_options o) noexcept {
        constexpr std::size_t most = 1024 * 1024 * 1024;
        o.block = o.block < most ? o.block : most;
        if (o.block == 0) o.block = 1;
        o.longest_line = o.longest_line < most ? o.longest_line : most;
        o.most_held = o.most_held < most ? o.most_held : most;
        return o;
    }

    std::string_view without_return(std::string_view line) const noexcept {
        if (options_.drop_carriage_return && line.ends_with('\r')) line.remove_suffix(1);
        return line;
    }
    std::string_view take_all() noexcept {
        const std::string_view all = buffer_.view();
        buffer_.consume(all.size());
        return all;
    }
    task<std::expected<bool, error>> refill();
    task<std::expected<bool, error>> hold(std::size_t size);
    task<piece> next_line(char delimiter);
    task<piece> next_until(std::string_view text);
    piece ended(const char* operation);

    std::unique_ptr<source> owned_;
    source* source_;
    buffer buffer_;
    std::uint64_t received_ = 0;  ///< bytes that came from the source
    reader_options options_;
    bool delimited_ = true;
    detail::turn_share share_;
    detail::delimiter_marks marks_;
};

inline bool detail::line_read::take() noexcept {
    buffer& b = reader_->buffer_;
    const char* const begin = b.data();
    const char* const end = reader_->marks_.find(begin, begin + b.size(), delimiter_);
    if (end == nullptr) return false;
    const auto size = static_cast<std::size_t>(end - begin);
    const std::string_view line = reader_->without_return({begin, size});
    if (line.size() > reader_->options_.longest_line) return false;
    begin_ = begin;
    size_ = line.size();
    reader_->marks_.take();
    b.consume(size + 1);
    reader_->delimited_ = true;
    return true;
}

inline bool detail::line_skip::take() noexcept {
    buffer& b = reader_->buffer_;
    if (b.empty()) return false;
    const void* const end = std::memchr(b.data(), delimiter_, b.size());
    if (end == nullptr) return false;
    b.consume(static_cast<std::size_t>(static_cast<const char*>(end) - b.data()) + 1);
    return true;
}

inline bool detail::some_read::take() noexcept {
    if (reader_->buffer_.empty()) return false;
    bytes_ = reader_->take_all();
    return true;
}

inline bool detail::peek::take() noexcept {
    if (reader_->buffer_.size() < size_) return false;
    bytes_ = reader_->buffer_.view().substr(0, size_);
    return true;
}

inline bool detail::exact_read::take() noexcept {
    if (reader_->buffer_.size() < size_) return false;
    bytes_ = reader_->buffer_.view().substr(0, size_);
    reader_->buffer_.consume(size_);
    return true;
}

inline bool detail::byte_skip::take() noexcept {
    if (reader_->buffer_.size() < size_) return false;
    reader_->buffer_.consume(static_cast<std::size_t>(size_));
    return true;
}

template <class T>
bool detail::struct_read<T>::take() noexcept {
    if (reader_->buffer_.size() < sizeof(T)) return false;
    std::memcpy(&value_, reader_->buffer_.data(), sizeof(T));
    reader_->buffer_.consume(sizeof(T));
    return true;
}

}  // namespace coracle::io
