#include "http/client/public_suffix.hpp"

#include <libpsl.h>

#include <string>

namespace coracle::http::detail {
namespace {

const psl_ctx_t* load_list() {
    const psl_ctx_t* const latest = psl_latest(nullptr);
    return latest != nullptr ? latest : psl_builtin();
}

}  // namespace

bool is_public_suffix(std::string_view domain) {
    if (domain.find('.') == std::string_view::npos) return true;
    // Never freed: threads that outlive `main` may still use it.
    static const psl_ctx_t* const list = load_list();
    // If libpsl has no list, only names without a dot are suffixes.
    return list != nullptr && psl_is_public_suffix(list, std::string(domain).c_str()) != 0;
}

}  // namespace coracle::http::detail
