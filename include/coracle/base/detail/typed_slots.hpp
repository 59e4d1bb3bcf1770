#pragma once

#include <coracle/base/arena.hpp>
#include <coracle/base/export.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace coracle {

namespace detail {

/// A variable whose address stands for the type: no run-time type information is needed. It can be
/// written, so that no linker folds two of them into one.
template <class T>
CORACLE_EXPORT inline char type_key = 0;

}  // namespace detail

/// Values of any types, at most one of each, found by their type. They live in an arena that the
/// owner keeps, and are destroyed with the container, or by `clear`, the youngest first. An empty
/// one is a null pointer; finding a value goes through a list, which is meant to be short. Not
/// thread-safe.
class typed_slots {
public:
    typed_slots() noexcept = default;
    typed_slots(const typed_slots&) = delete;
    typed_slots& operator=(const typed_slots&) = delete;
    ~typed_slots() { clear(); }

    bool empty() const noexcept { return first_ == nullptr; }

    /// The value of this type, or null. It stays where it is until it is replaced or destroyed.
    template <class T>
    T* find() noexcept {
        slot* s = *place_of<T>();
        return s == nullptr ? nullptr : static_cast<holder<T>*>(s)->value();
    }

    template <class T>
    const T* find() const noexcept {
        return const_cast<typed_slots*>(this)->find<T>();
    }

    /// Makes the value of this type, in place of the one that was there: replacing one again and
    /// again takes no more memory. `memory` must be the same each time, and outlive the values.
    /// The old value is destroyed first. When the constructor throws there is none.
    template <class T, class... Args>
    T& emplace(arena& memory, Args&&... args) {
        static_assert(std::is_same_v<T, std::decay_t<T>>, "a slot holds a plain type");
        static_assert(alignof(T) <= alignof(std::max_align_t), "an arena aligns to 16 at most");
        holder<T>* h = take<T>();
        if (h == nullptr) h = take_spare<T>();
        if (h == nullptr) {
            h = ::new (memory.allocate(sizeof(holder<T>), alignof(holder<T>))) holder<T>;
        }
        // Until there is a value its place stands among the spare ones.
        h->next = std::exchange(spare_, h);
        T* value = ::new (static_cast<void*>(h->bytes)) T(std::forward<Args>(args)...);
        take_spare<T>();
        h->next = std::exchange(first_, h);
        return *value;
    }

    /// Destroys the value of this type, if there is one; its place is kept for the next.
    template <class T>
    void erase() noexcept {
        holder<T>* h = take<T>();
        if (h != nullptr) h->next = std::exchange(spare_, h);
    }

    /// Destroys all values, and forgets their places: the arena may be freed.
    void clear() noexcept {
        while (first_ != nullptr) {
            slot* s = std::exchange(first_, first_->next);
            s->destroy(s);
        }
        spare_ = nullptr;
    }

private:
    struct slot {
        slot* next;
        const void* key;
        void (*destroy)(slot*) noexcept;
    };

    template <class T>
    struct holder : slot {
        holder() noexcept : slot{nullptr, &detail::type_key<T>, &destroy_value} {}
        T* value() noexcept { return std::launder(reinterpret_cast<T*>(bytes)); }
        static void destroy_value(slot* s) noexcept { static_cast<holder*>(s)->value()->~T(); }

        alignas(T) unsigned char bytes[sizeof(T)];
    };

    template <class T>
    slot** place_of() noexcept {
        slot** at = &first_;
        while (*at != nullptr && (*at)->key != &detail::type_key<T>) at = &(*at)->next;
        return at;
    }

    /// Destroys the value and takes its place out of the list.
    template <class T>
    holder<T>* take() noexcept {
        slot** at = place_of<T>();
        if (*at == nullptr) return nullptr;
        slot* s = std::exchange(*at, (*at)->next);
        s->destroy(s);
        return static_cast<holder<T>*>(s);
    }

    template <class T>
    holder<T>* take_spare() noexcept {
        slot** at = &spare_;
        while (*at != nullptr && (*at)->key != &detail::type_key<T>) at = &(*at)->next;
        if (*at == nullptr) return nullptr;
        return static_cast<holder<T>*>(std::exchange(*at, (*at)->next));
    }

    slot* first_ = nullptr;
    slot* spare_ = nullptr;  ///< places without a value
};

}  // namespace coracle
