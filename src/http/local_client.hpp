#pragma once

namespace coracle::http {
class request;
}

namespace coracle::http::detail {

/// Returns true if the client is on this machine, and has named it so in its Host: a page of
/// another site could point a name of its own here (DNS rebinding).
bool comes_from_here(const request& req) noexcept;

}  // namespace coracle::http::detail
