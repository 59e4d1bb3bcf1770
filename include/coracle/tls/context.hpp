#pragma once

#include <coracle/base/error.hpp>
#include <coracle/tls/options.hpp>

#include <expected>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tls {

/// Makes a key and a certificate for these DNS names and IP addresses that it signs itself, good
/// for 30 days: for tests and for a first try. Throws `exception`.
certificate_source self_signed(const std::vector<std::string>& names);

/// The state that the connections of a server share: certificates, settings, keys of tickets.
/// Thread-safe.
class server_context {
public:
    class implementation;

    /// Reads all certificates and keys. Throws `exception` with a `tls::errc` and the name of what
    /// is wrong.
    explicit server_context(server_options o);
    /// Takes one certificate with its key: paths, or what `certificate_source` takes.
    server_context(std::string certificate, secret key, secret password = {});
    ~server_context();
    server_context(const server_context&) = delete;
    server_context& operator=(const server_context&) = delete;

    const server_options& options() const noexcept;

    /// Sets the protocols that ALPN offers when the options name none. Before the first connection.
    void offer(const std::vector<std::string>& protocols);

    /// Reads certificates and keys again, for connections from now on. On failure all stays as it
    /// was.
    std::expected<void, error> reload();
    /// Takes these certificates in place of those that it has, for connections from now on: for
    /// hosts that come and go, and for certificates that are no files. `reload` reads these again.
    /// On failure all stays as it was.
    std::expected<void, error> replace(std::vector<certificate_source> certificates);
    /// Reloads when a file has been changed since it was read: true when it did.
    std::expected<bool, error> reload_if_changed();

    implementation& internal() noexcept { return *inner_; }

private:
    std::unique_ptr<implementation> inner_;
};

/// The state that the connections of a client share: authorities, settings, sessions. Thread-safe.
class client_context {
public:
    class implementation;

    /// Throws `exception` as that of the server does.
    explicit client_context(client_options o = {});
    ~client_context();
    client_context(const client_context&) = delete;
    client_context& operator=(const client_context&) = delete;

    /// Returns the options that it was made with: `replace` does not change them.
    const client_options& options() const noexcept;
    /// Returns true if it has a certificate for servers that request one.
    bool has_identity() const;

    /// Reads the identity and the authorities again, for connections from now on, which resume no
    /// session of before. On failure all stays as it was.
    std::expected<void, error> reload();
    /// Takes this identity in place of the one that it has, and reloads. `reload` reads this one
    /// again. With an empty one it has none. On failure all stays as it was.
    std::expected<void, error> replace(certificate_source identity);
    /// Reloads when a file has been changed since it was read: true when it did.
    std::expected<bool, error> reload_if_changed();

    implementation& internal() noexcept { return *inner_; }

private:
    std::shared_ptr<implementation> inner_;  ///< also of its streams
};

}  // namespace coracle::tls
