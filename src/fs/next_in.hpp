#pragma once

#include <dirent.h>

#include <cerrno>

namespace coracle::fs::detail {

/// Returns the next entry, or null at the end, where errno is 0, or after a failure.
inline const dirent* next_in(DIR& d) noexcept {
    errno = 0;
    return ::readdir(&d);
}

}  // namespace coracle::fs::detail
