#include "connect/own_loop.hpp"

#include "tls/library.hpp"

#include <coracle/base/error.hpp>

#include <new>
#include <system_error>
#include <utility>

namespace coracle::connect::detail {

own_loop::own_loop(background_options o, const char* subject) noexcept
    : options_(o), subject_(subject) {
    // A client may have static lifetime, and its connections end with it.
    tls::detail::begin_library();
}

std::shared_ptr<background> own_loop::get() {
    const std::lock_guard lock(guard_);
    if (ended_) throw_exception(error(errc::shutting_down, subject_));
    try {
        if (background_ == nullptr) background_ = std::make_shared<background>(options_);
    } catch (const std::system_error& e) {
        throw_exception(error(e.code(), subject_));
    } catch (const std::bad_alloc&) {
        throw_exception(error(std::errc::not_enough_memory, subject_));
    }
    return background_;
}

bool own_loop::stop(duration limit) {
    std::shared_ptr<background> own;
    {
        const std::lock_guard lock(guard_);
        ended_ = true;
        own = background_;
    }
    return own != nullptr && own->stop(limit);
}

void own_loop::end() noexcept {
    std::shared_ptr<background> own;
    {
        const std::lock_guard lock(guard_);
        ended_ = true;
        own = std::move(background_);
    }
    // A thread that starts a call at this moment may hold the loop longer than this object. Its
    // destruction must not wait for calls then, and must not happen on its own threads.
    if (own != nullptr) static_cast<void>(own->stop(options_.drain));
}

std::shared_ptr<background> own_loop::begun() const {
    const std::lock_guard lock(guard_);
    return background_;
}

}  // namespace coracle::connect::detail
