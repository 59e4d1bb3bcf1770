#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle {

enum class file_kind : std::uint8_t {
    regular,
    directory,
    symlink,
    fifo,
    socket,
    character_device,
    block_device,
    unknown,
};

/// The status of a file, as statx(2) returns it.
struct file_status {
    file_kind kind = file_kind::regular;
    std::uint32_t mode = 0;  ///< permissions, set-id and sticky bits (07777)
    std::uint32_t user = 0;  ///< owner
    std::uint32_t group = 0;
    std::uint64_t size = 0;       ///< bytes; of a symlink, of its target's name
    std::uint64_t allocated = 0;  ///< bytes on the disk
    std::uint64_t links = 0;      ///< names that it has
    std::uint64_t inode = 0;
    std::uint64_t device = 0;
    std::int64_t accessed_ns = 0;  ///< last read, nanoseconds since 1970, UTC
    std::int64_t modified_ns = 0;  ///< last change of the content
    std::int64_t changed_ns = 0;   ///< last change of the content or of what is said here
    std::int64_t created_ns = 0;   ///< 0 where the file system does not know
};

/// The system call that a `file_operation` makes, once. Flags are the system's. `fd` as the
/// directory that a path starts at may be AT_FDCWD.
enum class file_action : std::uint8_t {
    open,            ///< openat(fd, path, flags, mode); result: the new number
    close,           ///< close(fd)
    read,            ///< preadv(fd, pieces, offset); result: bytes, 0 at the end
    write,           ///< pwritev(fd, pieces, offset); result: bytes, may be fewer
    sync,            ///< fsync(fd), with flags 1 fdatasync(fd)
    allocate,        ///< fallocate(fd, flags, offset, size)
    truncate,        ///< ftruncate(fd, size)
    status,          ///< statx(fd, path, flags) into `status`; with AT_EMPTY_PATH, of `fd`
    set_mode,        ///< fchmodat(fd, path, mode); an empty path: of `fd`
    set_times,       ///< utimensat(fd, path, flags): accessed `offset`, modified `size`, both ns
    make_directory,  ///< mkdirat(fd, path, mode)
    remove,          ///< unlinkat(fd, path, flags)
    rename,          ///< renameat2(fd, path, other_fd, other_path, flags)
    link,            ///< linkat(fd, path, other_fd, other_path, flags)
    symlink,         ///< symlinkat(path, other_fd, other_path): `path` is what it says
    read_link,       ///< readlinkat(fd, path) into the first of `pieces`
    list,            ///< getdents64(fd) into the first of `pieces`
    copy_range,      ///< copy_file_range(fd, offset, other_fd, other_offset, size)
    lock,            ///< fcntl(fd, F_OFD_SETLK), of `size` bytes from `offset`, kind in `flags`
};

/// One call on a file or a name, embedded in its awaiter. A backend that has it completes it as any
/// other; one that has not, completes it at once with -ENOSYS, and it goes to the pool. All that it
/// points to must live until it has completed. One that is cancelled may complete all the same.
struct file_operation : io_operation {
    file_operation(file_action a, callback done) noexcept
        : io_operation(opcode::file, done), action(a) {}

    file_action action;
    int fd = -1;
    int other_fd = -1;
    unsigned flags = 0;
    unsigned mode = 0;
    const char* path = "";
    const char* other_path = "";
    std::span<slice> pieces;   ///< to write from; to read into, though they say const
    std::uint64_t offset = 0;  ///< no_offset: where the descriptor stands
    std::uint64_t other_offset = 0;
    std::uint64_t size = 0;
    file_status* status = nullptr;
    void* scratch = nullptr;  ///< the backend's
    /// For a backend with files of its own: run the operation within `submit`, where else a thread
    /// beside the loops would run it. Other backends ignore it.
    bool at_once = false;

    static constexpr std::uint64_t no_offset = UINT64_MAX;
};

}  // namespace coracle
