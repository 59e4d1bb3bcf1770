#include "io/slices.hpp"

#include <coracle/io/files.hpp>

namespace coracle::io {

task<std::expected<std::size_t, error>> file_source::read_some(std::span<char> into) {
    file_cursor& at = file_.cursor();
    auto n = co_await as_result(at.file->read_at(at.position, into));
    if (n) at.position += *n;
    co_return n;
}

// Reads as `read_some` does, without its frame.
task<std::expected<std::size_t, error>> file_source::fill(buffer& into, std::size_t capacity) {
    file_cursor& at = file_.cursor();
    auto n = co_await as_result(at.file->read_at(at.position, room_in(into, capacity)));
    if (n) {
        at.position += *n;
        into.commit(*n);
    }
    co_return n;
}

task<std::expected<void, error>> file_sink::write(std::span<slice> pieces) {
    file_cursor& at = file_.cursor();
    auto written = co_await as_result(at.file->writev_at(at.position, pieces));
    if (!written) co_return written;
    at.position += detail::size_of(pieces);
    co_return std::expected<void, error>();
}

}  // namespace coracle::io
