#include "runtime/backend/make_backend.hpp"

#include "runtime/backend/epoll.hpp"
#include "runtime/backend/poll.hpp"
#include "runtime/backend/uring.hpp"

#include <coracle/runtime/backend_report.hpp>

#include <cstdlib>

namespace coracle {
namespace detail {

/// An unset or empty variable leaves the choice to `automatic`.
std::expected<backend_kind, error> backend_from_environment() {
    const char* const text = std::getenv("CORACLE_BACKEND");
    if (text == nullptr || *text == '\0') return backend_kind::automatic;
    if (const auto kind = parse_backend_kind(text)) return *kind;
    error e(std::errc::invalid_argument, "make_backend");
    return std::unexpected(std::move(e.on("CORACLE_BACKEND is '" + std::string(text) +
                                          "', not automatic, uring, epoll or poll")));
}

std::expected<std::unique_ptr<backend>, error> open_backend(backend_kind kind) {
    switch (kind) {
        case backend_kind::uring: return uring_backend::open();
        case backend_kind::epoll: return epoll_backend::open();
        case backend_kind::poll: return poll_backend::open();
        case backend_kind::automatic: break;
    }
    return std::unexpected(error(std::errc::invalid_argument, "make_backend"));
}

}  // namespace detail

std::expected<std::unique_ptr<backend>, error> make_backend(backend_kind kind) {
    if (kind == backend_kind::automatic) {
        const auto wanted = detail::backend_from_environment();
        if (!wanted) return std::unexpected(wanted.error());
        kind = *wanted;
    }
    if (kind != backend_kind::automatic) return detail::open_backend(kind);
    std::expected<std::unique_ptr<backend>, error> first =
        std::unexpected(error(std::errc::function_not_supported, "make_backend"));
    bool tried = false;
    for (const backend_kind candidate : detail::backends_by_preference) {
        auto opened = detail::open_backend(candidate);
        if (opened) return opened;
        if (!std::exchange(tried, true)) first = std::move(opened);
    }
    return first;
}

}  // namespace coracle
