#include "io/slices.hpp"

#include <coracle/io/memory.hpp>

#include <algorithm>

namespace coracle::io {

task<std::expected<std::size_t, error>> memory_source::read_some(std::span<char> into) {
    const std::size_t n = left_.copy(into.data(), into.size());
    left_.remove_prefix(n);
    co_return n;
}

task<std::expected<void, error>> memory_sink::write(std::span<slice> pieces) {
    const std::size_t size = detail::size_of(pieces);
    if (to_->size() > limit_ || size > limit_ - to_->size()) {
        error e(errc::limit_exceeded, "write");
        co_return std::unexpected(std::move(e.on("memory_sink limit")));
    }
    for (const slice& s : pieces) to_->append(s.data, s.size);
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> null_sink::write(std::span<slice>) {
    co_return std::expected<void, error>();
}

}  // namespace coracle::io
