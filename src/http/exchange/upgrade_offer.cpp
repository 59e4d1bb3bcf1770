#include "http/exchange/upgrade_offer.hpp"

#include "http/message/upgrade_protocols.hpp"

namespace coracle::http::detail {

bool offers_upgrade(const request& req, std::string_view protocols) noexcept {
    if (req.version() == version::http_1_0 || req.method() == method::head ||
        !req.fields().has_token(field_id::connection, "upgrade")) {
        return false;
    }
    return has_protocols(req.fields(), protocols);
}

}  // namespace coracle::http::detail
