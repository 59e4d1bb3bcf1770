#pragma once

#include <coracle/http/response.hpp>

namespace coracle::http::detail {

/// Lets no shared cache keep a response that sets a cookie for one client, whatever a rule of
/// `cache_fields` says.
inline void keep_from_caches(response& r) {
    const fields& all = r.fields();
    const bool is_kept = all.has_token(field_id::cache_control, "no-store") ||
                         all.has_token(field_id::cache_control, "private");
    if (!is_kept) r.set("Cache-Control", "no-store");
}

}  // namespace coracle::http::detail
