#include "http/file_reader.hpp"

#include "http/read_file_piece.hpp"

#include <algorithm>
#include <span>

namespace coracle::http::detail {

task<std::expected<std::string_view, error>> file_reader::read(std::uint64_t offset,
                                                               std::uint64_t size) {
    const std::span<char> into(bytes_.get(),
                               static_cast<std::size_t>(std::min<std::uint64_t>(size, most)));
    auto reading = read_file_piece(file_.fd(), offset, into, "read");
    const auto count = co_await std::move(reading);
    const bool ended = !count && count.error() == std::errc::no_message_available;
    if (!count && !ended) co_return std::unexpected(count.error());
    if (ended || *count != into.size()) {
        co_return std::unexpected(error(errc::end_of_stream, "read"));
    }
    co_return std::string_view(into.data(), into.size());
}

}  // namespace coracle::http::detail
