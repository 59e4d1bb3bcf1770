#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/io/detail/buffered_operation.hpp>
#include <coracle/io/detail/turn_share.hpp>
#include <coracle/io/sink.hpp>
#include <coracle/io/text_format.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

namespace coracle::io {

class writer;

/// Options of a `writer`.
struct writer_options {
    /// Bytes that it holds back at most, in one block of the pool. Default 64 KiB.
    std::size_t block = 64 * 1024;
};

namespace detail {

/// The awaitable returned by `writer::write` and `writer::write_struct`.
class [[nodiscard]] buffered_write final : public buffered_operation<buffered_write, void> {
public:
    buffered_write(writer& w, std::string_view bytes) noexcept : writer_(&w), bytes_(bytes) {}
    bool take() noexcept;
    task<result_type> wait();

private:
    writer* writer_;
    std::string_view bytes_;
};

/// The awaitable returned by `writer::put`.
class [[nodiscard]] character_write final : public buffered_operation<character_write, void> {
public:
    character_write(writer& w, char c) noexcept : writer_(&w), character_(c) {}
    bool take() noexcept;
    task<result_type> wait();

private:
    writer* writer_;
    char character_;
};

task<std::expected<void, error>> print_through(writer& to, std::string_view format,
                                               const text_argument* arguments, bool ends_line);
bool print_into(writer& to, std::string_view format, const text_argument* arguments,
                bool ends_line);

/// The awaitable returned by `writer::print` and `writer::println`.
template <std::size_t N>
class [[nodiscard]] print final : public buffered_operation<print<N>, void> {
public:
    template <class... Args>
    print(writer& w, bool ends_line, std::string_view format, const Args&... args) noexcept
        : writer_(&w), format_(format), ends_line_(ends_line), arguments_{args..., 0} {}
    bool take() { return print_into(*writer_, format_, arguments_, ends_line_); }
    task<std::expected<void, error>> wait() {
        return print_through(*writer_, format_, arguments_, ends_line_);
    }

private:
    writer* writer_;
    std::string_view format_;
    bool ends_line_;
    text_argument arguments_[N + 1];
};

}  // namespace detail

/// Writes texts and numbers to a sink, through a block of its own. While the block has spare
/// capacity, an operation completes without suspending and without a frame; otherwise the buffered
/// and the new bytes go to the sink together, and the task waits until it has taken them.
///
///     io::writer out(file);
///     co_await out.print("{} of {}\n", done, all);
///     co_await out.flush();
///
/// Belongs to one loop; one operation at a time; what is written must live until the operation has
/// completed. An error of the sink stays: it is what this and every later operation gives, and what
/// was held is gone. So is it when one that waits for the sink is cancelled.
///
/// Nothing is written by destroying it. What was not flushed then is lost, which is right for a
/// task that is cancelled and a mistake everywhere else: it is logged as a warning.
class writer {
public:
    /// `to` must outlive the writer.
    explicit writer(sink& to, const writer_options& options = {}) noexcept
        : sink_(&to), options_(options) {}
    /// The writer owns `to`.
    explicit writer(std::unique_ptr<sink> to, const writer_options& options = {}) noexcept
        : owned_(std::move(to)), sink_(owned_.get()), options_(options) {}
    /// Writes to a stream, or to a file from its beginning (from its end, if it was opened with
    /// `append`), which must outlive the writer.
    explicit writer(net::byte_stream& to, const writer_options& options = {});
    explicit writer(fs::file& to, const writer_options& options = {});
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;
    ~writer();

    /// Completes when all of `bytes` is in the block, or the sink has taken it.
    detail::buffered_write write(std::string_view bytes) noexcept { return {*this, bytes}; }
    /// Writes one byte.
    detail::character_write put(char c) noexcept { return {*this, c}; }

    /// Writes a text with values in it, as `format` makes it. The values are read when it is
    /// awaited.
    template <class... Args>
    detail::print<sizeof...(Args)> print(text_format<Args...> text, const Args&... args) noexcept {
        return {*this, false, text.text(), args...};
    }
    /// `print`, and a line feed.
    template <class... Args>
    detail::print<sizeof...(Args)> println(text_format<Args...> text,
                                           const Args&... args) noexcept {
        return {*this, true, text.text(), args...};
    }

    /// Writes the bytes of an object as they are in memory.
    template <class T>
    detail::buffered_write write_struct(const T& object) noexcept {
        static_assert(std::is_trivially_copyable_v<T>,
                      "write_struct writes objects that are nothing but their bytes");
        return write({reinterpret_cast<const char*>(&object), sizeof(T)});
    }

    /// Completes when the sink has taken all that was written, and has been flushed itself. Then no
    /// block is held.
    operation<void> flush();
    /// Flushes, and ends the sink (`sink::finish`): nothing may be written any more.
    operation<void> finish();
    /// Drops what is held.
    void discard() noexcept { buffer_.release(); }

    /// Bytes that are held.
    std::size_t buffered() const noexcept { return buffer_.size(); }
    /// The number of bytes written, including those that are held.
    std::uint64_t position() const noexcept { return passed_on_ + buffer_.size(); }

private:
    friend detail::buffered_write;
    friend detail::character_write;
    friend bool detail::print_into(writer&, std::string_view, const detail::text_argument*, bool);
    friend task<std::expected<void, error>> detail::print_through(writer&, std::string_view,
                                                                  const detail::text_argument*,
                                                                  bool);

    bool take_block() noexcept;
    task<std::expected<void, error>> pass_on(std::string_view bytes);
    std::expected<void, error> fail(error e) noexcept;
    task<std::expected<void, error>> flush_all();
    task<std::expected<void, error>> finish_all();

    std::unique_ptr<sink> owned_;
    sink* sink_;
    buffer buffer_;
    std::uint64_t passed_on_ = 0;
    std::optional<error> failed_;
    writer_options options_;
    detail::turn_share share_;
};

inline bool detail::buffered_write::take() noexcept {
    buffer& b = writer_->buffer_;
    if (bytes_.size() > b.spare_size() && (b || !writer_->take_block())) return false;
    if (bytes_.size() > b.spare_size()) return false;
    if (!bytes_.empty()) std::memcpy(b.spare(), bytes_.data(), bytes_.size());
    b.commit(bytes_.size());
    return true;
}

inline bool detail::character_write::take() noexcept {
    buffer& b = writer_->buffer_;
    if (b.spare_size() == 0 && (b || !writer_->take_block())) return false;
    *b.spare() = character_;
    b.commit(1);
    return true;
}

}  // namespace coracle::io
