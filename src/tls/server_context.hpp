#pragma once

#include "tls/client_trust.hpp"
#include "tls/credentials.hpp"
#include "tls/settings.hpp"
#include "tls/ticket_keys.hpp"

#include <coracle/tls/context.hpp>

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace coracle::tls {

namespace detail {

/// A certificate and its stapled OCSP response.
struct stapled_certificate {
    x509_ptr certificate;
    std::string ocsp_response;
};

/// The certificates for some names: an SSL_CTX with one, or with several that differ in the kind of
/// key, among which the handshake chooses.
struct shown_certificate {
    ssl_ctx_ptr context;
    std::vector<std::string> names;
    std::vector<stapled_certificate> kinds;

    /// Returns true if a certificate for the same names, with another kind of key, can be added.
    bool has_room_for(const X509* c, const std::vector<std::string>& its_names) const;
    std::expected<void, error> add(credentials c);
    /// Returns true if one of its names is `host`, in lower case.
    bool names_host(std::string_view host) const noexcept;
    /// Returns true if it is for `host` with "*" for the first label (RFC 6125 section 6.4.3).
    bool covers(std::string_view host) const noexcept;
};

/// All certificates of one load. Connections keep theirs alive after a reload.
struct certificate_set {
    std::vector<shown_certificate> all;
    client_trust clients;
    const shown_certificate& for_host(std::string_view host) const noexcept;
    /// Returns true if it is that of one of them.
    bool has(const SSL_CTX* context) const noexcept;
    /// Returns the OCSP response for exactly this certificate; empty if there is none.
    std::string_view response_to(const X509* shown) const noexcept;
};

}  // namespace detail

class server_context::implementation {
public:
    explicit implementation(server_options o);

    const server_options& options() const noexcept { return options_; }
    std::expected<void, error> load();
    std::expected<void, error> replace(std::vector<certificate_source> certificates);
    bool files_changed();
    void offer(const std::vector<std::string>& protocols);

    /// Returns the SSL of a connection, still without a BIO.
    detail::ssl_ptr make();

private:
    using set_ptr = std::shared_ptr<const detail::certificate_set>;

    void set_protocols(const std::vector<std::string>& protocols);
    std::expected<detail::shown_certificate, error> prepare(detail::credentials c,
                                                            const detail::client_trust& clients);
    void set_callbacks(SSL_CTX* c);
    set_ptr current();
    std::expected<void, error> load_from(const std::vector<certificate_source>& sources);
    std::vector<std::int64_t> file_times(const std::vector<certificate_source>& sources) const;

    static int choose_certificate(SSL* s, int* alert, void* self);
    static int choose_protocol(SSL* s, const unsigned char** chosen, unsigned char* size,
                               const unsigned char* offered, unsigned offered_size, void* self);
    static int ticket(SSL* s, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                      EVP_MAC_CTX* mac, int encrypt);
    static int make_ticket(SSL* s, void* self);
    bool trusts_still(SSL_SESSION* session);
    static SSL_TICKET_RETURN look_at_session(SSL* s, SSL_SESSION* session,
                                             const unsigned char* name, std::size_t name_size,
                                             SSL_TICKET_STATUS status, void* self);
    static int staple(SSL* s, void* self);
    static void log_key(const SSL* s, const char* line);
    static implementation& of(const SSL* s);

    server_options options_;
    std::list<std::string> protocol_lists_;               ///< all that were offered
    std::atomic<const std::string*> protocols_{nullptr};  ///< one of them
    detail::ticket_keys ticket_keys_;
    detail::key_log key_log_;
    detail::provider_ptr provider_;  ///< outlives the keys that are in it
    std::mutex loading_;             ///< held while files are read
    std::vector<certificate_source> sources_;
    std::vector<std::int64_t> read_at_;
    std::mutex lock_;
    set_ptr set_;
};

}  // namespace coracle::tls
