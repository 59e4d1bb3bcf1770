#pragma once

namespace coracle::http {
class request;
}

namespace coracle::http::detail {

/// Returns true if the client is on this machine, and has named it so in its Host: a page of
/// another site could point a name of its own here (DNS rebinding). False where a proxy on this
/// machine says that it asks for a client (Forwarded, X-Forwarded-For and its like, Via), unless
/// `trust_proxies` has found out that this one is here too; a proxy that says nothing looks like a
/// client from here.
bool comes_from_here(const request& req) noexcept;

}  // namespace coracle::http::detail
