#pragma once

#include <cstddef>
#include <string_view>

namespace coracle::testing {

/// Looks into every block that this thread gives back to the global operator delete while it lives:
/// what was to be overwritten must not be there any more. One at a time; sees nothing where
/// `counts_allocations()` is false. The pool of a loop gives its blocks back at the loop's end.
class freed_memory_watch {
public:
    /// For `text`, which must outlive it.
    explicit freed_memory_watch(std::string_view text) noexcept;
    ~freed_memory_watch();
    freed_memory_watch(const freed_memory_watch&) = delete;
    freed_memory_watch& operator=(const freed_memory_watch&) = delete;

    /// In how many blocks it was.
    std::size_t found() const noexcept { return found_; }

    void freed(const void* block, std::size_t size) noexcept;

private:
    std::string_view text_;
    std::size_t found_ = 0;
};

}  // namespace coracle::testing
