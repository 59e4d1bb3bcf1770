#include "runtime/backend/epoll.hpp"

namespace coracle {

std::expected<std::unique_ptr<backend>, error> make_backend(backend_kind kind) {
    switch (kind) {
        case backend_kind::automatic:
        case backend_kind::epoll: return detail::epoll_backend::open();
    }
    return std::unexpected(error(std::errc::invalid_argument, "make_backend"));
}

}  // namespace coracle
