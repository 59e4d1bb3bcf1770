#pragma once

#include <cstdint>
#include <utility>

namespace coracle::testing::detail {

/// The subject of an event. Lives as long as something refers to it, and is counted without
/// atomics: a simulated world has one thread.
class subject {
public:
    subject() noexcept = default;
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;

    void refer() noexcept { ++references_; }
    void drop() noexcept {
        if (--references_ == 0) delete this;
    }

protected:
    virtual ~subject() = default;

private:
    std::uint32_t references_ = 0;
};

/// A counted reference to a subject.
template <class T>
class ref {
public:
    ref() noexcept = default;
    ref(T* to) noexcept : to_(to) {
        if (to_ != nullptr) to_->refer();
    }
    ref(const ref& other) noexcept : ref(other.to_) {}
    ref(ref&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
    ref& operator=(ref other) noexcept {
        std::swap(to_, other.to_);
        return *this;
    }
    ~ref() {
        if (to_ != nullptr) to_->drop();
    }

    T* get() const noexcept { return to_; }
    T* operator->() const noexcept { return to_; }
    T& operator*() const noexcept { return *to_; }
    explicit operator bool() const noexcept { return to_ != nullptr; }
    friend bool operator==(const ref&, const ref&) noexcept = default;

private:
    T* to_ = nullptr;
};

}  // namespace coracle::testing::detail
