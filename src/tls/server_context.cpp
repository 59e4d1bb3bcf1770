#include "tls/server_context.hpp"

#include "base/ascii.hpp"
#include "tls/file_times.hpp"
#include "tls/message_watch.hpp"
#include "tls/verified_client.hpp"

#include <coracle/runtime/loop.hpp>

#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>

namespace coracle::tls {

using detail::shown_certificate;

namespace {

constexpr std::size_t least_ticket_secret = 32;

error no_certificate() {
    error e(make_error_code(errc::certificate_unreadable), "certificates", phase::tls);
    return std::move(e.on("none was given"));
}

/// An SSL_CTX holds one certificate of each.
int kind_of_key(const X509* c) noexcept {
    return EVP_PKEY_get_base_id(X509_get0_pubkey(c));
}

}  // namespace

bool shown_certificate::has_room_for(const X509* c,
                                     const std::vector<std::string>& its_names) const {
    // Without names nothing shows that two are for the same host.
    if (names.empty() || names != its_names) return false;
    const int wanted = kind_of_key(c);
    return std::none_of(kinds.begin(), kinds.end(), [wanted](const auto& other) {
        return kind_of_key(other.certificate.get()) == wanted;
    });
}

std::expected<void, error> shown_certificate::add(detail::credentials c) {
    if (auto used = detail::use(context.get(), c); !used) return used;
    kinds.push_back({std::move(c.certificate), std::move(c.ocsp_response)});
    return {};
}

bool shown_certificate::names_host(std::string_view host) const noexcept {
    return std::ranges::find(names, host) != names.end();
}

bool shown_certificate::covers(std::string_view host) const noexcept {
    const std::size_t dot = host.find('.');
    if (dot == 0 || dot == std::string_view::npos) return false;
    return std::ranges::any_of(names, [parent = host.substr(dot)](const std::string& name) {
        return name.starts_with("*.") && std::string_view(name).substr(1) == parent;
    });
}

const shown_certificate& detail::certificate_set::for_host(std::string_view host) const noexcept {
    for (const shown_certificate& c : all) {
        if (c.names_host(host)) return c;
    }
    for (const shown_certificate& c : all) {
        if (c.covers(host)) return c;
    }
    return all.front();
}

bool detail::certificate_set::has(const SSL_CTX* context) const noexcept {
    return std::ranges::any_of(
        all, [context](const shown_certificate& one) { return one.context.get() == context; });
}

std::string_view detail::certificate_set::response_to(const X509* shown) const noexcept {
    for (const shown_certificate& one : all) {
        for (const stapled_certificate& c : one.kinds) {
            if (c.certificate.get() == shown) return c.ocsp_response;
        }
    }
    return {};
}

server_context::implementation::implementation(server_options o)
    : options_(std::move(o)),
      ticket_keys_(
          std::chrono::duration_cast<std::chrono::seconds>(options_.ticket_lifetime).count(),
          options_.ticket_secret),
      sources_(options_.certificates) {
    const std::size_t secret_size = options_.ticket_secret.reveal().size();
    if (secret_size != 0 && secret_size < least_ticket_secret) {
        error e(make_error_code(errc::bad_option), "ticket_secret", phase::tls);
        throw_exception(std::move(e.on("less than 32 bytes")));
    }
    set_protocols(options_.protocols);
    if (sources_.empty()) throw_exception(no_certificate());
    if (!options_.key_log.empty()) {
        if (auto opened = key_log_.open(options_.key_log); !opened) {
            throw_exception(std::move(opened).error());
        }
    }
    auto provider = detail::load_provider(options_.provider);
    if (!provider) throw_exception(std::move(provider).error());
    provider_ = std::move(*provider);
    if (auto loaded = load(); !loaded) throw_exception(std::move(loaded).error());
}

void server_context::implementation::offer(const std::vector<std::string>& protocols) {
    if (options_.protocols.empty()) set_protocols(protocols);
}

void server_context::implementation::set_protocols(const std::vector<std::string>& protocols) {
    auto list = detail::protocol_list(protocols);
    if (!list) throw_exception(std::move(list).error());
    const std::lock_guard hold(lock_);
    // Handshakes on other threads may be reading the list of before.
    const auto known = std::ranges::find(protocol_lists_, *list);
    protocols_ =
        known != protocol_lists_.end() ? &*known : &protocol_lists_.emplace_back(std::move(*list));
}

std::expected<void, error> server_context::implementation::load() {
    const std::lock_guard hold(loading_);
    return load_from(sources_);
}

std::expected<void, error> server_context::implementation::replace(
    std::vector<certificate_source> certificates) {
    const std::lock_guard hold(loading_);
    if (certificates.empty()) return std::unexpected(no_certificate());
    auto loaded = load_from(certificates);
    if (loaded) sources_ = std::move(certificates);
    return loaded;
}

std::expected<void, error> server_context::implementation::load_from(
    const std::vector<certificate_source>& sources) {
    auto times = file_times(sources);
    auto fresh = std::make_shared<detail::certificate_set>();
    auto trusted = detail::client_trust::read(options_);
    if (!trusted) return std::unexpected(std::move(trusted).error());
    fresh->clients = *std::move(trusted);
    for (const certificate_source& source : sources) {
        auto c = detail::read_credentials(source);
        if (!c) return std::unexpected(std::move(c).error());
        X509* const its = c->certificate.get();
        const auto names = detail::dns_names(its);
        const auto same =
            std::find_if(fresh->all.begin(), fresh->all.end(),
                         [&](const auto& other) { return other.has_room_for(its, names); });
        if (same != fresh->all.end()) {
            if (auto added = same->add(*std::move(c)); !added) return added;
            continue;
        }
        auto one = prepare(*std::move(c), fresh->clients);
        if (!one) return std::unexpected(std::move(one).error());
        fresh->all.push_back(std::move(*one));
    }
    read_at_ = std::move(times);
    const std::lock_guard hold(lock_);
    set_ = std::move(fresh);
    return {};
}

std::expected<shown_certificate, error> server_context::implementation::prepare(
    detail::credentials c, const detail::client_trust& clients) {
    shown_certificate shown;
    shown.context.reset(SSL_CTX_new(TLS_server_method()));
    if (shown.context == nullptr) {
        return std::unexpected(detail::take_failure(errc::bad_option, "server_context"));
    }
    SSL_CTX* const context = shown.context.get();
    if (auto done = detail::apply(context, options_); !done) {
        return std::unexpected(std::move(done).error());
    }
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
    shown.names = detail::dns_names(c.certificate.get());
    if (auto done = shown.add(std::move(c)); !done) return std::unexpected(done.error());
    // Sessions are good for one server only; with clients' certificates OpenSSL insists on a name.
    static constexpr unsigned char name[] = "coracle";
    SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
    clients.apply(context);
    set_callbacks(context);
    return shown;
}

void server_context::implementation::set_callbacks(SSL_CTX* c) {
    SSL_CTX_set_app_data(c, this);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    const auto lifetime =
        std::chrono::duration_cast<std::chrono::seconds>(options_.ticket_lifetime).count();
    SSL_CTX_set_timeout(c, static_cast<long>(lifetime));
    if (options_.tickets) {
        SSL_CTX_set_tlsext_ticket_key_evp_cb(c, &implementation::ticket);
        SSL_CTX_set_session_ticket_cb(c, &implementation::make_ticket,
                                      &implementation::look_at_session, this);
    } else {
        SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(c, 0);
    }
    SSL_CTX_set_tlsext_servername_callback(c, &implementation::choose_certificate);
    SSL_CTX_set_tlsext_servername_arg(c, this);
    SSL_CTX_set_alpn_select_cb(c, &implementation::choose_protocol, this);
    SSL_CTX_set_tlsext_status_cb(c, &implementation::staple);
    SSL_CTX_set_tlsext_status_arg(c, this);
    SSL_CTX_set_msg_callback(c, &detail::watch_message);
    if (!options_.key_log.empty()) SSL_CTX_set_keylog_callback(c, &implementation::log_key);
}

server_context::implementation& server_context::implementation::of(const SSL* s) {
    return *static_cast<implementation*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(s)));
}

server_context::implementation::set_ptr server_context::implementation::current() {
    const std::lock_guard hold(lock_);
    return set_;
}

detail::ssl_ptr server_context::implementation::make() {
    const set_ptr set = current();
    detail::ssl_ptr s(SSL_new(set->all.front().context.get()));
    if (s == nullptr) throw std::bad_alloc();
    X509_VERIFY_PARAM_set_time(SSL_get0_param(s.get()),
                               static_cast<time_t>(loop::current()->unix_time()));
    return s;
}

int server_context::implementation::choose_certificate(SSL* s, int* alert, void* self) {
    auto& context = *static_cast<implementation*>(self);
    const char* const asked = SSL_get_servername(s, TLSEXT_NAMETYPE_host_name);
    if (asked == nullptr) return SSL_TLSEXT_ERR_NOACK;
    std::string host;
    try {
        host = coracle::detail::lower(std::string_view(asked));
    } catch (const std::bad_alloc&) {  // no exception may cross OpenSSL
        *alert = SSL_AD_INTERNAL_ERROR;
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    const set_ptr set = context.current();
    SSL_CTX* const wanted = set->for_host(host).context.get();
    if (wanted != SSL_get_SSL_CTX(s)) SSL_set_SSL_CTX(s, wanted);
    return SSL_TLSEXT_ERR_OK;
}

int server_context::implementation::choose_protocol(SSL*, const unsigned char** chosen,
                                                    unsigned char* size,
                                                    const unsigned char* offered,
                                                    unsigned offered_size, void* self) {
    const std::string& ours = *static_cast<implementation*>(self)->protocols_.load();
    if (ours.empty()) return SSL_TLSEXT_ERR_NOACK;
    unsigned char* found = nullptr;
    const int result =
        SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(ours.data()),
                              static_cast<unsigned>(ours.size()), offered, offered_size);
    // RFC 7301 section 3.2.
    if (result != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

int server_context::implementation::ticket(SSL* s, unsigned char* name, unsigned char* iv,
                                           EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int encrypt) {
    const int result = of(s).ticket_keys_.prepare(loop::current()->unix_time(), name, iv, cipher,
                                                  mac, encrypt == 1);
    // RFC 8446 appendix C.4: a ticket is used once, so a client that used one gets another.
    const bool used_up = result == 1 && encrypt == 0 && SSL_version(s) == TLS1_3_VERSION;
    return used_up ? 2 : result;
}

int server_context::implementation::make_ticket(SSL* s, void* self) {
    // A session that was resumed has the note of the first handshake.
    if (SSL_get0_peer_certificate(s) == nullptr || SSL_session_reused(s) == 1) return 1;
    try {
        const set_ptr set = static_cast<implementation*>(self)->current();
        // Where it has been replaced since the handshake began, others have verified the client.
        if (!set->has(SSL_get_SSL_CTX(s))) return 1;
        const auto client = detail::verified_client::of(s, set->clients);
        return !client || client->write_to(SSL_get_session(s)) ? 1 : 0;
    } catch (const std::bad_alloc&) {  // no exception may cross OpenSSL
        return 0;
    }
}

/// Returns false if the client's certificates, verified when the session began, have expired since
/// then, or are trusted for other authorities, and where it has to have one and had none.
bool server_context::implementation::trusts_still(SSL_SESSION* session) {
    if (SSL_SESSION_get0_peer(session) == nullptr) {
        return options_.clients != client_certificates::required;
    }
    const auto client = detail::verified_client::in(session);
    return client && loop::current()->unix_time() < client->until &&
           client->authorities == current()->clients.digest();
}

/// Without trust in the client there is a full handshake.
SSL_TICKET_RETURN server_context::implementation::look_at_session(SSL*, SSL_SESSION* session,
                                                                  const unsigned char*, std::size_t,
                                                                  SSL_TICKET_STATUS status,
                                                                  void* self) {
    const bool renew = status == SSL_TICKET_SUCCESS_RENEW;
    if (status != SSL_TICKET_SUCCESS && !renew) return SSL_TICKET_RETURN_IGNORE_RENEW;
    try {
        if (!static_cast<implementation*>(self)->trusts_still(session)) {
            return SSL_TICKET_RETURN_IGNORE_RENEW;
        }
    } catch (const std::bad_alloc&) {  // no exception may cross OpenSSL
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    }
    return renew ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_USE;
}

int server_context::implementation::staple(SSL* s, void* self) {
    const set_ptr set = static_cast<implementation*>(self)->current();
    // By now OpenSSL has chosen among the kinds of keys.
    const std::string_view response = set->response_to(SSL_get_certificate(s));
    if (response.empty()) return SSL_TLSEXT_ERR_NOACK;
    // OpenSSL frees what it is given.
    auto* const copy =
        static_cast<unsigned char*>(OPENSSL_memdup(response.data(), response.size()));
    if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
    SSL_set_tlsext_status_ocsp_resp(s, copy, static_cast<long>(response.size()));
    return SSL_TLSEXT_ERR_OK;
}

void server_context::implementation::log_key(const SSL* s, const char* line) {
    of(s).key_log_.write(line);
}

std::vector<std::int64_t> server_context::implementation::file_times(
    const std::vector<certificate_source>& sources) const {
    std::vector<std::string_view> paths = {options_.client_authorities,
                                           options_.client_revocations};
    for (const certificate_source& source : sources) {
        paths.insert(paths.end(), {source.certificate, source.key.reveal(), source.ocsp_response});
    }
    return detail::file_times(paths);
}

bool server_context::implementation::files_changed() {
    const std::lock_guard hold(loading_);
    return file_times(sources_) != read_at_;
}

server_context::server_context(server_options o)
    : inner_(std::make_unique<implementation>(std::move(o))) {}
server_context::server_context(std::string certificate, secret key, secret password)
    : server_context([&] {
          server_options o;
          o.certificates.push_back(
              {std::move(certificate), std::move(key), std::move(password), {}});
          return o;
      }()) {}
server_context::~server_context() = default;

void server_context::offer(const std::vector<std::string>& protocols) {
    inner_->offer(protocols);
}

const server_options& server_context::options() const noexcept {
    return inner_->options();
}

std::expected<void, error> server_context::replace(std::vector<certificate_source> certificates) {
    return inner_->replace(std::move(certificates));
}

std::expected<void, error> server_context::reload() {
    return inner_->load();
}

std::expected<bool, error> server_context::reload_if_changed() {
    if (!inner_->files_changed()) return false;
    auto loaded = inner_->load();
    if (!loaded) return std::unexpected(std::move(loaded).error());
    return true;
}

}  // namespace coracle::tls
