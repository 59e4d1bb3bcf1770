#pragma once

#include <coracle/runtime/detail/resident.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cassert>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace coracle::connect::detail {

/// The parts that a client has on the loops which use it. `Part` is a `resident` whose key is its
/// owner, made of the owner and a loop; `retire()` notifies it, on its loop, that the owner was
/// destroyed. Thread-safe.
template <class Owner, class Part>
class loop_parts {
public:
    /// Returns the part on the current loop, and makes it if need be; null once `close` was called.
    Part* here(Owner& owner) {
        loop* const l = loop::current();
        assert(l != nullptr);
        if (resident* const r = l->find_resident(&owner)) return static_cast<Part*>(r);
        const std::lock_guard lock(guard_);
        if (closed_) return nullptr;
        auto made = std::make_unique<Part>(owner, *l);
        places_.push_back({l, made.get(), std::make_unique<farewell>(*made)});
        l->settle(*made);
        return made.release();
    }

    /// To be called by a part that ends.
    void forget(Part& part) noexcept {
        const std::lock_guard lock(guard_);
        std::erase_if(places_, [&part](const place& p) { return p.part == &part; });
    }

    /// Retires all parts, each on its loop. `owner` stays until they know.
    void close(const std::shared_ptr<Owner>& owner) noexcept {
        Part* here = nullptr;
        {
            const std::lock_guard lock(guard_);
            closed_ = true;
            // A loop that ends takes the lock before it destroys its part, so all parts in the list
            // exist.
            for (place& p : places_) {
                if (p.on == loop::current()) {
                    here = p.part;
                } else if (p.last_word != nullptr) {
                    farewell* const f = p.last_word.release();
                    f->keep = owner;
                    if (!p.on->post(*f)) delete f;
                }
            }
        }
        if (here != nullptr) here->retire();
    }

    /// Calls `f` with each part, which may run on its own loop at the same time.
    template <class F>
    void for_each(F f) {
        const std::lock_guard lock(guard_);
        for (const place& p : places_) f(std::as_const(*p.part));
    }

private:
    /// Notifies a part, on its loop, that the owner was destroyed; destroys itself.
    struct farewell final : coracle::detail::remote_runnable {
        explicit farewell(Part& p) noexcept : part(&p) {}
        void arrived() noexcept override {
            part->retire();
            delete this;
        }
        void dropped() noexcept override { delete this; }
        Part* part;
        std::shared_ptr<Owner> keep;  ///< set once it is posted
    };
    struct place {
        loop* on;
        Part* part;
        /// Allocated with the part, so that the owner can be destroyed without memory.
        std::unique_ptr<farewell> last_word;
    };

    std::mutex guard_;
    std::vector<place> places_;
    bool closed_ = false;
};

}  // namespace coracle::connect::detail
