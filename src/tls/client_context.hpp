#pragma once

#include "tls/session_cache.hpp"
#include "tls/settings.hpp"

#include <coracle/tls/context.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace coracle::tls {

/// Each SSL_CTX that it makes shares in it: streams may outlive the context, and as long as they
/// live servers may send tickets.
class client_context::implementation
    : public std::enable_shared_from_this<client_context::implementation> {
public:
    /// Reads no certificates: that is for `load`.
    explicit implementation(client_options o);
    /// Lets go of the SSL_CTX: there are no connections from now on.
    void end() noexcept;

    const client_options& options() const noexcept { return options_; }

    std::expected<void, error> load();
    std::expected<void, error> replace(certificate_source identity);
    bool files_changed();
    bool has_identity();

    /// Returns the SSL of a connection to `host`, which resumes a cached session if there is one,
    /// and offers `protocols`; empty: those of the options.
    std::expected<detail::ssl_ptr, error> make(const std::string& host,
                                               const std::vector<std::string>& protocols);

private:
    std::expected<void, error> load_with(const certificate_source& identity);
    std::expected<detail::ssl_ctx_ptr, error> prepare(const certificate_source& identity);
    std::expected<void, error> trust(SSL_CTX* c) const;
    std::vector<std::int64_t> file_times(const certificate_source& identity) const;
    std::expected<void, error> share_in(SSL_CTX* c);
    static implementation& of(const SSL* s);
    detail::ssl_ctx_ptr current();
    static int remember(SSL* s, SSL_SESSION* session);
    static void log_key(const SSL* s, const char* line);

    client_options options_;
    std::string protocols_;
    detail::provider_ptr provider_;  ///< of the keys, which OpenSSL lets keep it too
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
