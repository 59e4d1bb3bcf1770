#pragma once

#include <coracle/fs/file.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace coracle::fs::detail {

/// Reads the entries of a directory, many at a time.
class directory_batch {
public:
    struct record {
        std::string_view name;  ///< until the next batch
        file_kind kind = file_kind::unknown;
        std::uint64_t inode = 0;
    };

    /// Requests the next entries. The result is a number of bytes, 0 at the end; pass it to
    /// `filled`. Until then neither this nor `directory` may be moved.
    byte_operation fill(const file& directory);
    void filled(std::size_t bytes) noexcept {
        size_ = bytes;
        at_ = 0;
    }

    /// Returns the next entry of the batch, without "." and "..".
    std::optional<record> next() noexcept;

private:
    static constexpr std::size_t capacity = 32 * 1024;

    std::unique_ptr<char[]> bytes_;
    slice room_;
    std::size_t size_ = 0;
    std::size_t at_ = 0;
};

}  // namespace coracle::fs::detail
