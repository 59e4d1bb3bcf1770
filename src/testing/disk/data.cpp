// Calls on open files.

#include "testing/disk/tree.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace coracle::testing::detail {
namespace {

constexpr std::size_t most_pieces = 1024;  ///< IOV_MAX

bool reads(const open_file& f) noexcept {
    return (f.flags & O_PATH) == 0 && (f.flags & O_ACCMODE) != O_WRONLY;
}
bool writes(const open_file& f) noexcept {
    return (f.flags & O_PATH) == 0 && (f.flags & O_ACCMODE) != O_RDONLY;
}
bool is_negative(std::uint64_t offset) noexcept {
    return offset > static_cast<std::uint64_t>(INT64_MAX);
}

bool is_nowhere(std::uint64_t offset) noexcept {
    return is_negative(offset) && offset != file_operation::no_offset;
}

/// The offset of a call that moves bytes; `moved` advances the descriptor's position if the call
/// uses that.
struct position_of {
    open_file& f;
    bool is_own;
    std::uint64_t at;

    position_of(open_file& file, std::uint64_t offset) noexcept
        : f(file), is_own(offset == file_operation::no_offset), at(is_own ? f.position : offset) {}
    void moved(std::uint64_t bytes) const noexcept {
        if (is_own) f.position = at + bytes;
    }
};

void was_read(inode& n, std::int64_t now_ns) noexcept {
    // The mount option relatime.
    constexpr std::int64_t day = 86'400'000'000'000;
    const std::int64_t last = n.now.accessed_ns;
    if (last > n.now.modified_ns && last > n.now.changed_ns && now_ns - last < day) return;
    n.now.accessed_ns = now_ns;
    n.is_dirty = true;
}

}  // namespace

file_tree::result file_tree::read(file_request& r) {
    if (is_nowhere(r.op.offset)) return -EINVAL;
    if (!r.on || !reads(*r.on)) return -EBADF;
    if (r.op.pieces.size() > most_pieces) return -EINVAL;
    inode& n = *r.on->node;
    const position_of from(*r.on, r.op.offset);
    if (n.is_directory()) return -EISDIR;
    std::size_t done = 0;
    for (const slice& piece : r.op.pieces) {
        const std::size_t wanted = std::min(piece.size, r.most - done);
        const std::size_t got =
            n.content.read(from.at + done, const_cast<char*>(piece.data), wanted);
        done += got;
        if (got != piece.size) break;
    }
    from.moved(done);
    if (done != 0 && (r.on->flags & O_NOATIME) == 0) was_read(n, r.now_ns);
    return static_cast<result>(done);
}

file_tree::result file_tree::write(file_request& r) {
    if (is_nowhere(r.op.offset)) return -EINVAL;
    if (!r.on || !writes(*r.on)) return -EBADF;
    if (r.op.pieces.size() > most_pieces) return -EINVAL;
    inode& n = *r.on->node;
    position_of to(*r.on, r.op.offset);
    // Linux appends then, whatever the given offset.
    if ((r.on->flags & O_APPEND) != 0) to.at = n.content.size();
    std::size_t done = 0;
    std::size_t size = 0;
    for (const slice& piece : r.op.pieces) size += piece.size;
    if (size != 0 && to.at >= largest_file) return -EFBIG;
    size = std::min({size, r.most, static_cast<std::size_t>(largest_file - to.at)});
    for (const slice& piece : r.op.pieces) {
        const std::size_t wanted = std::min(piece.size, size - done);
        const std::size_t put = n.content.write(to.at + done, {piece.data, wanted});
        done += put;
        if (put != wanted || done == size) break;
    }
    if (done == 0 && size != 0) return -ENOSPC;
    to.moved(done);
    if (done != 0) touch(n, r.now_ns);
    if ((r.on->flags & O_DSYNC) != 0) put_on_disk(n, (r.on->flags & O_SYNC) != O_SYNC);
    return static_cast<result>(done);
}

void file_tree::put_on_disk(inode& n, bool data_only) {
    n.content.sync();
    if (n.is_directory()) journal_.sync(n);
    if (data_only) return;
    n.durable = n.now;
    n.is_dirty = false;
}

file_tree::result file_tree::sync(file_request& r) {
    if (!r.on || (r.on->flags & O_PATH) != 0) return -EBADF;
    inode& n = *r.on->node;
    if (r.fails_to_sync) {
        // Names stay where they are, and may reach the disk another time.
        n.content.fail_to_sync();
        return -EIO;
    }
    put_on_disk(n, r.op.flags == 1);
    return 0;
}

file_tree::result file_tree::truncate(file_request& r) {
    if (is_negative(r.op.size)) return -EINVAL;
    if (!r.on || (r.on->flags & O_PATH) != 0) return -EBADF;
    inode& n = *r.on->node;
    if (n.is_directory() || !writes(*r.on)) return -EINVAL;
    if (r.op.size > largest_file) return -EFBIG;
    n.content.truncate(r.op.size);
    touch(n, r.now_ns);
    return 0;
}

file_tree::result file_tree::allocate(file_request& r) {
    const unsigned how = r.op.flags;
    const std::uint64_t at = r.op.offset;
    const std::uint64_t size = r.op.size;
    if (!r.on || (r.on->flags & O_PATH) != 0) return -EBADF;
    if (is_negative(at) || is_negative(size) || size == 0) return -EINVAL;
    constexpr unsigned keep = FALLOC_FL_KEEP_SIZE;
    constexpr unsigned hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (how != 0 && how != keep && how != hole) return -EOPNOTSUPP;
    if (!writes(*r.on)) return -EBADF;
    inode& n = *r.on->node;
    if (n.is_directory()) return -EISDIR;
    if (at + size > largest_file) return -EFBIG;
    if (how == hole) {
        n.content.punch(at, size);
    } else {
        if (!n.content.allocate(at, size)) return -ENOSPC;
        if (how == 0 && at + size > n.content.size()) n.content.truncate(at + size);
    }
    touch(n, r.now_ns);
    return 0;
}

file_tree::result file_tree::copy_range(file_request& r) {
    if (!r.on || !r.other || ((r.on->flags | r.other->flags) & O_PATH) != 0) return -EBADF;
    inode& source = *r.on->node;
    inode& target = *r.other->node;
    if (source.is_directory() || target.is_directory()) return -EISDIR;
    if (!reads(*r.on) || !writes(*r.other) || (r.other->flags & O_APPEND) != 0) return -EBADF;
    const position_of from(*r.on, r.op.offset);
    const position_of to(*r.other, r.op.other_offset);
    if (is_negative(from.at) || is_negative(to.at)) return -EINVAL;
    std::uint64_t size = source.content.size();
    size = std::min(r.op.size, size - std::min(size, from.at));
    if (&source == &target && from.at < to.at + size && to.at < from.at + size) return -EINVAL;
    if (to.at + size > largest_file) return -EFBIG;
    size = std::min<std::uint64_t>(size, r.most);
    std::uint64_t done = 0;
    char piece[file_content::page_size];
    while (done != size) {
        const auto wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(sizeof piece, size - done));
        source.content.read(from.at + done, piece, wanted);
        const std::size_t put = target.content.write(to.at + done, {piece, wanted});
        done += put;
        if (put != wanted) break;
    }
    if (done == 0 && size != 0) return -ENOSPC;
    from.moved(done);
    to.moved(done);
    if (done != 0) touch(target, r.now_ns);
    return static_cast<result>(done);
}

file_tree::result file_tree::lock(file_request& r) {
    if (!r.on || (r.on->flags & O_PATH) != 0) return -EBADF;
    if (is_negative(r.op.offset) || is_negative(r.op.size)) return -EINVAL;
    const std::uint64_t first = r.op.offset;
    const std::uint64_t last = r.op.size == 0 ? UINT64_MAX : first + r.op.size - 1;
    range_locks& locks = r.on->node->locks;
    switch (static_cast<int>(r.op.flags)) {
        case F_UNLCK: locks.unlock(r.on.get(), first, last); return 0;
        case F_RDLCK:
            if (!reads(*r.on)) return -EBADF;
            return locks.lock(r.on.get(), first, last, range_locks::kind::shared) ? 0 : -EAGAIN;
        case F_WRLCK:
            if (!writes(*r.on)) return -EBADF;
            return locks.lock(r.on.get(), first, last, range_locks::kind::exclusive) ? 0 : -EAGAIN;
        default: return -EINVAL;
    }
}

// ---- directories --------------------------------------------------------------------------------

namespace {

/// Writes the records of getdents64.
class listing_writer {
public:
    explicit listing_writer(const slice& room) noexcept
        : at_(const_cast<char*>(room.data)), left_(room.size) {}

    bool add(const inode& n, std::string_view name, std::uint64_t next) noexcept {
        constexpr std::size_t head = offsetof(dirent64, d_name);
        const std::size_t size = (head + name.size() + 1 + 7) / 8 * 8;
        if (size > left_) return false;
        std::memset(at_, 0, size);
        const auto length = static_cast<std::uint16_t>(size);
        const unsigned char type = type_of(n.kind);
        std::memcpy(at_ + offsetof(dirent64, d_ino), &n.number, sizeof n.number);
        std::memcpy(at_ + offsetof(dirent64, d_off), &next, sizeof next);
        std::memcpy(at_ + offsetof(dirent64, d_reclen), &length, sizeof length);
        std::memcpy(at_ + offsetof(dirent64, d_type), &type, sizeof type);
        std::memcpy(at_ + head, name.data(), name.size());
        at_ += size;
        left_ -= size;
        written_ += size;
        return true;
    }
    std::size_t written() const noexcept { return written_; }

private:
    static unsigned char type_of(file_kind k) noexcept {
        switch (k) {
            case file_kind::directory: return DT_DIR;
            case file_kind::symlink: return DT_LNK;
            default: return DT_REG;
        }
    }

    char* at_;
    std::size_t left_;
    std::size_t written_ = 0;
};

/// The names as they are now, "." and ".." among them: what comes later may be missed.
std::vector<std::string> names_in(const inode& directory, random_source* order) {
    std::vector<std::string> names{".", ".."};
    for (const auto& [name, node] : directory.children) names.push_back(name);
    if (order == nullptr) return names;
    for (std::size_t left = names.size(); left > 1; --left) {
        std::swap(names[left - 1], names[order->up_to(left - 1)]);
    }
    return names;
}

}  // namespace

file_tree::result file_tree::list(file_request& r) {
    if (!r.on || (r.on->flags & O_PATH) != 0) return -EBADF;
    inode& directory = *r.on->node;
    if (!directory.is_directory()) return -ENOTDIR;
    if (directory.parent == nullptr) return -ENOENT;
    std::uint64_t& at = r.on->position;
    if (at == 0) r.on->listing = names_in(directory, r.order);
    listing_writer into(r.op.pieces[0]);
    for (; at != r.on->listing.size(); ++at) {
        const std::string& name = r.on->listing[at];
        const inode_ref n = child(directory, name);
        if (n && !into.add(*n, name, at + 1)) {
            if (into.written() == 0) return -EINVAL;
            break;
        }
    }
    was_read(directory, r.now_ns);
    return static_cast<result>(into.written());
}

}  // namespace coracle::testing::detail
