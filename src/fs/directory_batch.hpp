#pragma once

#include <coracle/fs/file.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace coracle::fs::detail {

/// Entries of a directory, as the system gives them: many at a time.
class directory_batch {
public:
    struct record {
        std::string_view name;  ///< until the next batch
        file_kind kind = file_kind::unknown;
        std::uint64_t inode = 0;
    };

    /// Asks for the next ones. Gives bytes, 0 when there are no more. Neither this nor `directory`
    /// may be moved until then; what it gives goes to `filled`.
    byte_operation fill(const file& directory);
    void filled(std::size_t bytes) noexcept {
        size_ = bytes;
        at_ = 0;
    }

    /// The next one of the batch, but for "." and "..".
    std::optional<record> next() noexcept;

private:
    static constexpr std::size_t capacity = 32 * 1024;

    std::unique_ptr<char[]> bytes_;
    slice room_;
    std::size_t size_ = 0;
    std::size_t at_ = 0;
};

}  // namespace coracle::fs::detail
