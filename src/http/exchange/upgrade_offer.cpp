#include "http/exchange/upgrade_offer.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

namespace coracle::http::detail {

bool offers_upgrade(const request& req, std::string_view protocols) noexcept {
    if (req.version() == version::http_1_0 || req.method() == method::head ||
        !req.fields().has_token(field_id::connection, "upgrade")) {
        return false;
    }
    bool any = false;
    while (!protocols.empty()) {
        const std::string_view one = trim_ows(coracle::detail::take_item(protocols));
        if (one.empty()) continue;
        any = true;
        if (!req.fields().has_token(field_id::upgrade, one)) return false;
    }
    return any;
}

}  // namespace coracle::http::detail
