#pragma once

#include <coracle/base/detail/intrusive_list.hpp>

namespace coracle {

/// Something that an object elsewhere keeps on a loop, such as the connections that a client has
/// there. It is found by the address of its owner, and ends with the loop at the latest.
class resident : public list_hook {
public:
    resident(const resident&) = delete;
    resident& operator=(const resident&) = delete;

    /// The loop runs no more tasks: all that is left on it has to go. Called on its thread; it may
    /// destroy itself.
    virtual void loop_ended() noexcept = 0;

    const void* owner() const noexcept { return owner_; }

protected:
    explicit resident(const void* owner) noexcept : owner_(owner) {}
    ~resident() = default;
    /// Makes it impossible to find from now on.
    void disown() noexcept { owner_ = nullptr; }

private:
    const void* owner_;
};

}  // namespace coracle
