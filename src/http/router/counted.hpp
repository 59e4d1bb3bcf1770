#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace coracle::http::detail {

/// A base with a count of references. Versions of a table share parts, and the last reference may
/// end on any thread; readers never count.
struct counted {
    mutable std::atomic<std::uint32_t> references{1};

    counted() noexcept = default;
    counted(const counted&) noexcept {}
    counted& operator=(const counted&) = delete;
};

/// A reference to a T, which has a `void destroy(T*) noexcept` beside it.
template <class T>
class counted_ref {
public:
    counted_ref() noexcept = default;
    /// Takes over the first reference of a new T.
    explicit counted_ref(T* fresh) noexcept : to_(fresh) {}
    counted_ref(const counted_ref& other) noexcept : to_(other.to_) {
        if (to_ != nullptr) to_->references.fetch_add(1, std::memory_order_relaxed);
    }
    counted_ref(counted_ref&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
    counted_ref& operator=(counted_ref other) noexcept {
        std::swap(to_, other.to_);
        return *this;
    }
    ~counted_ref() {
        // Acquire and release: the accesses of other threads happen before the destruction.
        if (to_ != nullptr && to_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            destroy(to_);
        }
    }

    T* get() const noexcept { return to_; }
    T* operator->() const noexcept { return to_; }
    T& operator*() const noexcept { return *to_; }
    explicit operator bool() const noexcept { return to_ != nullptr; }
    /// Returns true if it may be changed in place. Valid only if every reference on the way here
    /// was the only one, too.
    bool is_only() const noexcept { return to_->references.load(std::memory_order_acquire) == 1; }

private:
    T* to_ = nullptr;
};

}  // namespace coracle::http::detail
