#include "fs/directory_batch.hpp"

#include <dirent.h>

#include <cstring>

namespace coracle::fs::detail {
namespace {

/// The head of a record of getdents64(2): inode, a cookie, its length, the type, and then the name.
struct record_head {
    std::uint64_t inode;
    std::int64_t cookie;
    std::uint16_t length;
    std::uint8_t type;
};
constexpr std::size_t name_at = 19;

file_kind kind_of(std::uint8_t type) noexcept {
    switch (type) {
        case DT_REG: return file_kind::regular;
        case DT_DIR: return file_kind::directory;
        case DT_LNK: return file_kind::symlink;
        case DT_FIFO: return file_kind::fifo;
        case DT_SOCK: return file_kind::socket;
        case DT_CHR: return file_kind::character_device;
        case DT_BLK: return file_kind::block_device;
        default: return file_kind::unknown;
    }
}

}  // namespace

byte_operation directory_batch::fill(const file& directory) {
    if (!bytes_) bytes_ = std::make_unique_for_overwrite<char[]>(capacity);
    room_ = slice(bytes_.get(), capacity);
    byte_operation op(file_action::list, "list", directory.path());
    op.fd = directory.fd();
    op.pieces = std::span<slice>(&room_, 1);
    return op;
}

std::optional<directory_batch::record> directory_batch::next() noexcept {
    while (size_ - at_ > name_at) {
        record_head head;
        std::memcpy(&head, bytes_.get() + at_, name_at);
        // Checks, because a file system in user space may return anything.
        if (head.length <= name_at || head.length > size_ - at_) break;
        const char* const text = bytes_.get() + at_ + name_at;
        const std::size_t room = head.length - name_at;
        const void* const end = std::memchr(text, '\0', room);
        const std::size_t length =
            end == nullptr ? room : static_cast<std::size_t>(static_cast<const char*>(end) - text);
        at_ += head.length;
        const std::string_view name(text, length);
        if (name == "." || name == ".." || name.empty()) continue;
        return record{name, kind_of(head.type), head.inode};
    }
    at_ = size_;
    return std::nullopt;
}

}  // namespace coracle::fs::detail
