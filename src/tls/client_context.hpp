#pragma once

#include "tls/session_cache.hpp"
#include "tls/settings.hpp"

#include <coracle/tls/context.hpp>

#include <cstdint>
#include <mutex>
#include <vector>

namespace coracle::tls {

class client_context::implementation {
public:
    explicit implementation(client_options o);

    const client_options& options() const noexcept { return options_; }

    std::expected<void, error> load();
    std::expected<void, error> replace(certificate_source identity);
    bool files_changed();
    bool has_identity();

    /// Returns the SSL of a connection to `host`, which resumes a cached session if there is one.
    std::expected<detail::ssl_ptr, error> make(const std::string& host);

private:
    std::expected<void, error> load_with(const certificate_source& identity);
    std::expected<detail::ssl_ctx_ptr, error> prepare(const certificate_source& identity);
    std::expected<void, error> trust(SSL_CTX* c) const;
    std::vector<std::int64_t> file_times(const certificate_source& identity) const;
    detail::ssl_ctx_ptr current();
    static int remember(SSL* s, SSL_SESSION* session);
    static void log_key(const SSL* s, const char* line);

    client_options options_;
    std::string protocols_;
    detail::provider_ptr provider_;  ///< outlives the keys that are in it
    detail::session_cache sessions_;
    detail::key_log key_log_;
    std::mutex loading_;  ///< held while files are read
    certificate_source identity_;
    std::vector<std::int64_t> read_at_;
    std::mutex lock_;
    detail::ssl_ctx_ptr context_;
    bool has_identity_ = false;
};

}  // namespace coracle::tls
