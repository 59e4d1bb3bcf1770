#include "http/message/upgrade_protocols.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

namespace coracle::http::detail {

bool has_protocols(const fields& request, std::string_view protocols) noexcept {
    bool any = false;
    while (!protocols.empty()) {
        const std::string_view one = trim_ows(coracle::detail::take_item(protocols));
        if (one.empty()) continue;
        any = true;
        if (!request.has_token(field_id::upgrade, one)) return false;
    }
    return any;
}

}  // namespace coracle::http::detail
