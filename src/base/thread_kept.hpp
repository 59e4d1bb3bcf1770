#pragma once

namespace coracle::detail {

/// Returns the `T` that this thread keeps; null at the end of the thread, when it is gone: objects
/// of static lifetime are destroyed behind it.
template <class T>
T* thread_kept() {
    constinit static thread_local bool is_over = false;
    struct holder {
        T kept;
        ~holder() { is_over = true; }
    };
    if (is_over) return nullptr;
    static thread_local holder mine;
    return &mine.kept;
}

}  // namespace coracle::detail
