#pragma once

#include <coracle/runtime/file_operation.hpp>
#include <coracle/runtime/thread_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace coracle::fs {

/// Bytes that one call of the system moves at most: more goes in several, so that no loop and no
/// thread is long away.
inline constexpr std::size_t most_bytes_a_call = 1024 * 1024;

namespace detail {

using coracle::detail::leaf;
using coracle::detail::pool_job;
using coracle::detail::remote_leaf;

/// Awaits a `file_operation`. The loop's thread does what needs only the page cache and the name
/// cache; the rest runs in the backend if it can, else on the runtime's pool. A loop without a pool
/// makes the call itself. No frame, no allocation.
///
/// Returns the result of the system call, or the number of bytes moved where `completion` takes
/// several calls. Cancelling withdraws a call that has not begun, and otherwise waits until it has
/// ended: what was done then counts as done.
class [[nodiscard]] file_call : public remote_leaf<file_call, std::uint64_t, pool_job>,
                                public file_operation {
public:
    static constexpr const char* name = "file";

    /// The condition for an operation to be complete.
    enum class completion : std::uint8_t {
        once,        ///< one call
        all,         ///< until all bytes are written
        to_the_end,  ///< until all bytes are read; `errc::unexpected_end` at the end of the file
    };

    /// `verb`, a literal, is what errors call it; `about`, its subject, must outlive the operation.
    file_call(file_action a, const char* verb, std::string_view about = {}) noexcept
        : file_operation(a, &done), verb_(verb), subject_(about) {}
    file_call(file_call&&) noexcept = default;

    /// Moves bytes between the file and `bytes` or the pieces, from `offset` on.
    void moves(std::span<char> bytes, completion c) noexcept {
        one_ = slice(bytes.data(), bytes.size());
        count_ = 1;
        completion_ = c;
    }
    void moves(std::string_view bytes, completion c) noexcept {
        one_ = slice(bytes);
        count_ = 1;
        completion_ = c;
    }
    /// The array of pieces must live until it has completed.
    void moves(std::span<const slice> bytes, completion c) noexcept {
        all_ = bytes.data();
        count_ = bytes.size();
        completion_ = c;
    }
    void moves(std::span<const std::span<char>> rooms, completion c) noexcept {
        rooms_ = rooms.data();
        count_ = rooms.size();
        completion_ = c;
    }

    bool start() noexcept;
    void cancel() noexcept override;
    void run() noexcept override;
    std::expected<std::uint64_t, error> result() const;
    const char* waits_for() const noexcept override { return verb_; }

protected:
    ~file_call() = default;
    /// Called before the first call, when the object no longer moves: it may point into itself.
    /// Returns false if one of its paths holds a NUL, and so is none.
    virtual bool prepare() noexcept { return true; }
    /// The subject of an error.
    virtual std::string subject() const { return std::string(subject_); }

private:
    enum class place : std::uint8_t { nowhere, backend, pool, queue };
    static constexpr std::size_t window = 8;

    static void done(io_operation& op) noexcept;
    void execute() noexcept override;

    bool attempt() noexcept;
    bool is_declined() noexcept;
    bool attempt_here() noexcept;
    bool absorb() noexcept;
    void advance() noexcept;
    void queue() noexcept;
    bool within_budget() noexcept;
    bool is_in_range() const noexcept;

    bool moves_bytes() const noexcept {
        return action == file_action::read || action == file_action::write;
    }
    slice piece(std::size_t i) const noexcept;
    void fill_window() noexcept;
    void skip(std::size_t bytes) noexcept;

    const char* verb_;
    std::string_view subject_;
    const slice* all_ = nullptr;
    const std::span<char>* rooms_ = nullptr;
    slice one_;
    std::size_t count_ = 0;  ///< pieces: in `all_`, in `rooms_`, or `one_`
    std::size_t first_ = 0;  ///< the piece that is next,
    std::size_t begun_ = 0;  ///< and bytes of it that are done
    std::uint64_t moved_ = 0;
    slice window_[window];
    completion completion_ = completion::once;
    place place_ = place::nowhere;
    bool over_ = false;
    bool stopping_ = false;
    bool ended_early_ = false;
};

/// The system would take such a path for a shorter one.
inline bool holds_nul(std::string_view path) noexcept {
    return path.find('\0') != std::string_view::npos;
}

/// Returns the value of a `file_call` as a `T`.
template <class Call, class T>
T value_or_throw(Call& call) {
    std::expected<T, error> r = call.outcome();
    if (!r) coracle::throw_exception(std::move(r).error());
    if constexpr (!std::is_void_v<T>) return *std::move(r);
}

}  // namespace detail

/// The awaitable of operations without a value: `sync`, `write_at`, `rename` and their like.
class [[nodiscard]] plain_operation final : public detail::file_call {
public:
    using file_call::file_call;
    /// Makes an operation on one or two paths, which it owns.
    plain_operation(file_action a, const char* verb, std::string from, std::string to = {})
        : file_call(a, verb), path_(std::move(from)), other_(std::move(to)), owns_(true) {}
    plain_operation(plain_operation&&) noexcept = default;

    void await_resume() { detail::value_or_throw<plain_operation, void>(*this); }
    std::expected<void, error> outcome();

private:
    bool prepare() noexcept override;
    std::string subject() const override;

    std::string path_;
    std::string other_;
    bool owns_ = false;
};

/// The awaitable of operations that give a number of bytes.
class [[nodiscard]] byte_operation final : public detail::file_call {
public:
    using file_call::file_call;
    byte_operation(byte_operation&&) noexcept = default;

    std::size_t await_resume() {
        return detail::value_or_throw<byte_operation, std::size_t>(*this);
    }
    std::expected<std::size_t, error> outcome();
};

/// The awaitable returned by `status`.
class [[nodiscard]] status_operation final : public detail::file_call {
public:
    /// The status of an open file.
    status_operation(int number, std::string_view called) noexcept;
    /// The status of a name, relative to the directory `from` (AT_FDCWD: the current one).
    status_operation(int from, std::string text, bool follow);
    status_operation(status_operation&&) noexcept = default;

    file_status await_resume() {
        return detail::value_or_throw<status_operation, file_status>(*this);
    }
    std::expected<file_status, error> outcome();

private:
    bool prepare() noexcept override;
    std::string subject() const override;

    std::string path_;
    file_status found_;
};

}  // namespace coracle::fs
