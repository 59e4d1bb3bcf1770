#include "http/message/trailer.hpp"

#include <coracle/base/error.hpp>

namespace coracle::http {

// Merged into the head by someone, these would do harm.
bool may_be_trailer(field_id id) noexcept {
    using enum field_id;
    switch (id) {
        case host:
        case content_length:
        case transfer_encoding:
        case connection:
        case keep_alive:
        case proxy_connection:
        case te:
        case trailer:
        case upgrade:
        case expect:
        case max_forwards:
        case range:
        case content_encoding:
        case content_type:
        case content_range:
        case authorization:
        case proxy_authorization:
        case www_authenticate:
        case proxy_authenticate:
        case cookie:
        case set_cookie:
        case cache_control: return false;
        default: return true;
    }
}

void set_trailer(std::unique_ptr<fields>& all, std::string_view name, std::string_view value) {
    if (!may_be_trailer(find_field_id(name))) {
        throw_exception(error(std::errc::invalid_argument, "trailer").on(name));
    }
    if (all != nullptr) {
        all->set(name, value);
        return;
    }
    auto first = std::make_unique<fields>();
    first->set(name, value);
    all = std::move(first);
}

}  // namespace coracle::http
