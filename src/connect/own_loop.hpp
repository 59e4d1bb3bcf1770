#pragma once

#include <coracle/runtime/background.hpp>

#include <memory>
#include <mutex>

namespace coracle::connect::detail {

/// A client's own loop, for programs without coroutines; started when first used. Thread-safe.
class own_loop {
public:
    /// `subject`: the name of its calls in errors.
    own_loop(background_options o, const char* subject) noexcept;

    /// Returns shared ownership, because the client may be destroyed while a call is being started.
    /// Throws `exception`: errc::shutting_down after `stop` or `end`, and what a thread or a loop
    /// cannot be made for.
    std::shared_ptr<background> get();
    /// Accepts no more calls. Returns true if all calls under way have ended within `limit`.
    bool stop(duration limit);
    /// For the destructor of a client: waits for the time of its options.
    void end() noexcept;
    /// Null if it was not started.
    std::shared_ptr<background> begun() const;

    /// Its counters, for the statistics of the client.
    template <class Statistics>
    void add_to(Statistics& s) const {
        const auto b = begun();
        if (b == nullptr) return;
        s.active = b->active();
        s.peak = b->peak();
        s.failed_callbacks = b->failed_callbacks();
    }

private:
    const background_options options_;
    const char* const subject_;
    mutable std::mutex guard_;
    std::shared_ptr<background> background_;
    bool ended_ = false;
};

}  // namespace coracle::connect::detail
