#pragma once

#include <coracle/runtime/detail/thread_event.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <mutex>

namespace coracle::testing::detail {

/// The records of a `scripted_peer`, and who waits for them to change. Written on its loop.
class journal {
public:
    using predicate = unique_function<bool(const scripted_peer::records&)>;

    std::size_t add() {
        const std::lock_guard lock(guard_);
        records_.emplace_back();
        tell();
        return records_.size() - 1;
    }
    /// `f(record)` changes it.
    template <class F>
    void change(std::size_t index, F f) {
        const std::lock_guard lock(guard_);
        f(records_[index]);
        tell();
    }

    std::size_t size() const;
    connection_record at(std::size_t index) const;
    bool wait_until(predicate reached, duration limit);
    condition& changed() noexcept { return changed_; }

private:
    struct waiter : list_hook {
        explicit waiter(predicate& p) noexcept : reached(&p) {}
        predicate* reached;
        coracle::detail::thread_event event;
    };

    void tell() noexcept;

    mutable std::mutex guard_;
    scripted_peer::records records_;
    intrusive_list<waiter> waiting_;
    condition changed_;
};

}  // namespace coracle::testing::detail
