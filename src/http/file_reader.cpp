#include "http/file_reader.hpp"

#include <coracle/runtime/offload.hpp>

#include <algorithm>
#include <span>

namespace coracle::http::detail {

task<std::expected<std::string_view, error>> file_reader::read(std::uint64_t offset,
                                                               std::uint64_t size) {
    const std::span<char> into(bytes_.get(),
                               static_cast<std::size_t>(std::min<std::uint64_t>(size, most)));
    const fs::plain_file* const from = &file_;
    auto work = [from, offset, into] { return from->read_at(offset, into); };
    auto reading = offload(work);
    auto done = co_await as_result(reading);
    if (!done) co_return std::unexpected(std::move(done).error());
    std::expected<std::size_t, error>& count = *done;
    if (!count) co_return std::unexpected(std::move(count).error());
    if (*count != into.size()) {
        co_return std::unexpected(error(errc::end_of_stream, "read"));
    }
    co_return std::string_view(into.data(), into.size());
}

}  // namespace coracle::http::detail
