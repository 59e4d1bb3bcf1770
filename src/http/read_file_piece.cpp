#include "http/read_file_piece.hpp"

#include <coracle/fs/plain_file.hpp>
#include <coracle/runtime/offload.hpp>

#include <cerrno>

namespace coracle::http::detail {

task<std::expected<std::size_t, error>> read_file_piece(int fd, std::uint64_t offset,
                                                        std::span<char> into,
                                                        const char* operation) {
    auto count = fs::try_read_at(fd, offset, into);
    if (!count && count.error() == std::errc::resource_unavailable_try_again) {
        auto work = [fd, offset, into] { return fs::read_at(fd, offset, into); };
        auto reading = coracle::detail::offload_file_work(work);
        auto done = co_await as_result(reading);
        if (!done) co_return std::unexpected(std::move(done).error());
        count = *std::move(done);
    }
    if (count && *count == 0) {
        const std::error_code ended(ENODATA, std::generic_category());
        co_return std::unexpected(error(ended, operation));
    }
    co_return count;
}

}  // namespace coracle::http::detail
