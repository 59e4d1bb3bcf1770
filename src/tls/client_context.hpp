#pragma once

#include "tls/session_cache.hpp"
#include "tls/settings.hpp"

#include <coracle/tls/context.hpp>

namespace coracle::tls {

class client_context::implementation {
public:
    explicit implementation(client_options o);

    const client_options& options() const noexcept { return options_; }

    /// Returns the SSL of a connection to `host`, which resumes a cached session if there is one.
    std::expected<detail::ssl_ptr, error> make(const std::string& host);

private:
    std::expected<void, error> trust();
    std::expected<void, error> set_up();
    static int remember(SSL* s, SSL_SESSION* session);
    static void log_key(const SSL* s, const char* line);

    client_options options_;
    std::string protocols_;
    detail::provider_ptr provider_;  ///< outlives the keys that are in it
    detail::ssl_ctx_ptr context_;
    detail::session_cache sessions_;
    detail::key_log key_log_;
};

}  // namespace coracle::tls
