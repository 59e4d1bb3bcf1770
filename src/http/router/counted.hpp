#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace coracle::http::detail {

/// Counts the references to what derives from it. Versions of a table share parts, and the last
/// of them may end on any thread; readers never count.
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
    /// Takes over the reference that a new T is born with.
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
        // Acquire and release: what others did with it comes before its end.
        if (to_ != nullptr && to_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            destroy(to_);
        }
    }

    T* get() const noexcept { return to_; }
    T* operator->() const noexcept { return to_; }
    T& operator*() const noexcept { return *to_; }
    explicit operator bool() const noexcept { return to_ != nullptr; }
    /// Whether it may be changed in place. Holds only for whoever reached it by such alone.
    bool is_only() const noexcept { return to_->references.load(std::memory_order_acquire) == 1; }

private:
    T* to_ = nullptr;
};

}  // namespace coracle::http::detail
