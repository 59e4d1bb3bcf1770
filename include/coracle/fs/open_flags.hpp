#pragma once

#include <cstdint>

namespace coracle::fs {

/// The mode in which a file is opened. Combine them with `|`, or take one of the constants below.
enum class open_flags : std::uint16_t {
    none = 0,
    read = 1 << 0,
    write = 1 << 1,
    append = 1 << 2,      ///< each write goes to the end, wherever that is then (O_APPEND)
    create = 1 << 3,      ///< makes the file when there is none (O_CREAT)
    exclusive = 1 << 4,   ///< with `create`: fails when there is one (O_EXCL)
    truncate = 1 << 5,    ///< drops the content (O_TRUNC)
    directory = 1 << 6,   ///< fails when it is no directory (O_DIRECTORY)
    no_follow = 1 << 7,   ///< fails when the last name is a symbolic link (O_NOFOLLOW)
    sync = 1 << 8,        ///< a write is over when it is on the disk (O_SYNC)
    data_sync = 1 << 9,   ///< the same, without the times of the file (O_DSYNC)
    direct = 1 << 10,     ///< past the page cache; all must be aligned to blocks (O_DIRECT)
    temporary = 1 << 11,  ///< the path is a directory, the file has no name in it (O_TMPFILE)
    no_atime = 1 << 12,   ///< reading does not change `accessed_ns`; the owner may (O_NOATIME)
};

constexpr open_flags operator|(open_flags a, open_flags b) noexcept {
    return static_cast<open_flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr open_flags operator&(open_flags a, open_flags b) noexcept {
    return static_cast<open_flags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr open_flags operator~(open_flags a) noexcept {
    return static_cast<open_flags>(~static_cast<unsigned>(a) & 0x1FFFU);
}
constexpr open_flags& operator|=(open_flags& a, open_flags b) noexcept {
    return a = a | b;
}
constexpr bool has(open_flags all, open_flags flag) noexcept {
    return (all & flag) == flag;
}

/// The usual ways to open, and what is most often added to them.
inline constexpr open_flags read_only = open_flags::read;
inline constexpr open_flags write_only = open_flags::write;
inline constexpr open_flags read_write = open_flags::read | open_flags::write;
inline constexpr open_flags create = open_flags::create;
inline constexpr open_flags create_new = open_flags::create | open_flags::exclusive;
/// Writing anew: made when there is none, emptied when there is.
inline constexpr open_flags rewrite = open_flags::write | open_flags::create | open_flags::truncate;
/// Writing at the end: made when there is none.
inline constexpr open_flags append_to = open_flags::write | open_flags::create | open_flags::append;

}  // namespace coracle::fs
