#pragma once

#include <coracle/fs/file.hpp>
#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>

#include <optional>

namespace coracle::io {

namespace detail {

/// A cursor over a file that is borrowed or owned.
class held_file {
public:
    held_file(fs::file& file, std::uint64_t position) noexcept : cursor_{&file, position} {}
    held_file(fs::file&& file, std::uint64_t position) noexcept
        : own_(std::move(file)), cursor_{&*own_, position} {}
    held_file(const held_file&) = delete;
    held_file& operator=(const held_file&) = delete;

    file_cursor& cursor() noexcept { return cursor_; }

private:
    std::optional<fs::file> own_;
    file_cursor cursor_;
};

}  // namespace detail

/// A file from a position on, in the order of its bytes. After the end it may be read again: bytes
/// that were appended meanwhile follow. A file that was cut shorter is at its end.
class file_source final : public source {
public:
    /// `from` must outlive it.
    explicit file_source(fs::file& from, std::uint64_t position = 0) noexcept
        : file_(from, position) {}
    /// Owns `from`.
    explicit file_source(fs::file&& from, std::uint64_t position = 0) noexcept
        : file_(std::move(from), position) {}

    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override;
    task<std::expected<std::size_t, error>> fill(buffer& into, std::size_t capacity) override;
    file_cursor* cursor() noexcept override { return &file_.cursor(); }
    /// The offset of the next read, bytes from the beginning. May be set while no read is pending.
    std::uint64_t& position() noexcept { return file_.cursor().position; }

private:
    detail::held_file file_;
};

/// Writes into a file from a position on; one that was opened with `append` is written to at its
/// end whatever the position. `flush` does not reach the disk: that is `fs::file::sync`.
class file_sink final : public sink {
public:
    /// `to` must outlive it.
    explicit file_sink(fs::file& to, std::uint64_t position = 0) noexcept : file_(to, position) {}
    /// Owns `to`. Errors that only `fs::file::close` reports are lost.
    explicit file_sink(fs::file&& to, std::uint64_t position = 0) noexcept
        : file_(std::move(to), position) {}

    task<std::expected<void, error>> write(std::span<slice> pieces) override;
    file_cursor* cursor() noexcept override { return &file_.cursor(); }
    std::uint64_t& position() noexcept { return file_.cursor().position; }

private:
    detail::held_file file_;
};

}  // namespace coracle::io
