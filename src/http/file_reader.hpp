#pragma once

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/body.hpp>

namespace coracle::http::detail {

/// Reads an open file in pieces, off the loop: a slow disk delays no other task.
class file_reader {
public:
    /// The largest piece, in bytes.
    static constexpr std::size_t most = 64 * 1024;

    /// Takes over the descriptor.
    explicit file_reader(file_range part)
        : file_(part.release(), file_status()), bytes_(std::make_unique<char[]>(most)) {}

    /// The bytes at `offset`: `size` of them, or `most`. Valid until the next call. Fails with
    /// `errc::end_of_stream` when the file has become shorter.
    task<std::expected<std::string_view, error>> read(std::uint64_t offset, std::uint64_t size);

private:
    fs::plain_file file_;
    std::unique_ptr<char[]> bytes_;
};

}  // namespace coracle::http::detail
