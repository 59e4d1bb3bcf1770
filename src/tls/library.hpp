#pragma once

namespace coracle::tls::detail {

/// Initialises OpenSSL where that has not been done, so that it ends behind an object of static
/// lifetime whose constructor calls this.
void begin_library() noexcept;

}  // namespace coracle::tls::detail
