#pragma once

#include <cstddef>
#include <utility>

namespace coracle::http::detail {

/// Objects of a loop that are not needed at the moment and keep their memory; `T` has a pointer
/// `next_free`. Not thread-safe.
template <class T>
class reuse_list {
public:
    reuse_list() noexcept = default;
    reuse_list(const reuse_list&) = delete;
    reuse_list& operator=(const reuse_list&) = delete;
    ~reuse_list() {
        while (first_ != nullptr) delete std::exchange(first_, next(first_));
    }

    /// Returns a reused or a new object. Throws std::bad_alloc.
    T* take() {
        if (first_ == nullptr) return new T;
        --count_;
        return std::exchange(first_, next(first_));
    }
    void give_back(T* one) noexcept {
        if (count_ == kept) {
            delete one;
            return;
        }
        one->next_free = first_;
        first_ = one;
        ++count_;
    }

private:
    static constexpr std::size_t kept = 64;
    static T* next(T* one) noexcept { return static_cast<T*>(one->next_free); }

    T* first_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace coracle::http::detail
