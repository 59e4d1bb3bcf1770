#pragma once

#include <coracle/runtime/operation.hpp>

#include <initializer_list>

namespace coracle {

/// A signal that has arrived.
struct received_signal {
    int number = 0;
    int sender = 0;     ///< the process that sent it; 0 when the kernel did
    unsigned user = 0;  ///< whose that process is
};

/// Signals as something to await. The constructor blocks them in the calling thread: make it before
/// the threads that must not be interrupted, which inherit that. The destructor unblocks those that
/// were not blocked before. Not thread-safe; several sets may wait for different signals, and be
/// destroyed in any order.
class signal_set {
public:
    explicit signal_set(std::initializer_list<int> numbers);
    ~signal_set();
    signal_set(const signal_set&) = delete;
    signal_set& operator=(const signal_set&) = delete;

    /// Completes with the number of the next signal of the set. Resumes from the loop that awaits
    /// it. Cancelling it loses no signal. One task at a time waits: for others it fails with
    /// `std::errc::device_or_resource_busy`.
    operation<int> next();
    /// Waits as `next` does, and reports the sender too.
    operation<received_signal> next_received();

private:
    struct mask;
    std::unique_ptr<mask> blocked_;
    int fd_ = -1;
};

}  // namespace coracle
