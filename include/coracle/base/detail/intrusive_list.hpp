#pragma once

#include <cassert>

namespace coracle {

/// A hook by which an object sits in at most one `intrusive_list`; leaves it when destroyed.
class list_hook {
public:
    list_hook() noexcept = default;
    /// Copies no place in a list: only objects that stand in none are moved.
    list_hook(list_hook&& other) noexcept {
        assert(!other.linked());
        static_cast<void>(other);
    }
    list_hook& operator=(list_hook&&) = delete;
    ~list_hook() { unlink(); }

    bool linked() const noexcept { return next_ != nullptr; }

    void unlink() noexcept {
        if (next_ == nullptr) return;
        next_->previous_ = previous_;
        previous_->next_ = next_;
        next_ = previous_ = nullptr;
    }

private:
    template <class T>
    friend class intrusive_list;
    list_hook* next_ = nullptr;
    list_hook* previous_ = nullptr;
};

/// A doubly linked list of objects that derive from `list_hook`. Owns nothing, allocates nothing;
/// every operation is O(1). Not thread-safe.
template <class T>
class intrusive_list {
public:
    intrusive_list() noexcept { head_.next_ = head_.previous_ = &head_; }
    intrusive_list(const intrusive_list&) = delete;
    intrusive_list& operator=(const intrusive_list&) = delete;
    ~intrusive_list() {
        while (pop_front() != nullptr) {
        }
        head_.next_ = nullptr;
    }

    bool empty() const noexcept { return head_.next_ == &head_; }

    void push_back(T& item) noexcept { insert(head_, item); }
    void push_front(T& item) noexcept { insert(*head_.next_, item); }

    T* front() noexcept { return empty() ? nullptr : static_cast<T*>(head_.next_); }

    T* back() noexcept { return empty() ? nullptr : static_cast<T*>(head_.previous_); }

    T* pop_front() noexcept {
        T* item = front();
        if (item != nullptr) static_cast<list_hook*>(item)->unlink();
        return item;
    }

    /// The item after `item`, or null at the end.
    T* next(T& item) noexcept {
        list_hook* n = static_cast<list_hook&>(item).next_;
        return n == &head_ ? nullptr : static_cast<T*>(n);
    }

    /// The item before `item`, or null at the beginning.
    T* previous(T& item) noexcept {
        list_hook* p = static_cast<list_hook&>(item).previous_;
        return p == &head_ ? nullptr : static_cast<T*>(p);
    }

    /// `place` stands in this list, and is not `item`.
    void insert_behind(T& place, T& item) noexcept {
        static_cast<list_hook&>(item).unlink();
        insert(*static_cast<list_hook&>(place).next_, item);
    }

    /// Moves all items of `other` to the end of this list.
    void splice(intrusive_list& other) noexcept {
        if (other.empty()) return;
        list_hook* first = other.head_.next_;
        list_hook* last = other.head_.previous_;
        other.head_.next_ = other.head_.previous_ = &other.head_;
        first->previous_ = head_.previous_;
        head_.previous_->next_ = first;
        last->next_ = &head_;
        head_.previous_ = last;
    }

private:
    static void insert(list_hook& before, T& item) noexcept {
        list_hook& hook = item;
        hook.unlink();
        hook.previous_ = before.previous_;
        hook.next_ = &before;
        before.previous_->next_ = &hook;
        before.previous_ = &hook;
    }

    list_hook head_;
};

}  // namespace coracle
