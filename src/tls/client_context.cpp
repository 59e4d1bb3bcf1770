#include "tls/client_context.hpp"

#include "tls/certificate.hpp"
#include "tls/credentials.hpp"
#include "tls/file_times.hpp"
#include "tls/message_watch.hpp"

#include <coracle/runtime/loop.hpp>

#include <new>

namespace coracle::tls {
namespace {

/// Returns the key of cached sessions: the requested name, or the address, as OpenSSL writes it.
std::string session_key(SSL* s) {
    if (const char* const name = SSL_get_servername(s, TLSEXT_NAMETYPE_host_name)) return name;
    char* const ip = X509_VERIFY_PARAM_get1_ip_asc(SSL_get0_param(s));
    std::string key = ip == nullptr ? "" : ip;
    OPENSSL_free(ip);
    return key;
}

using shared_implementation = std::shared_ptr<client_context::implementation>;

void let_go(void*, void* share, CRYPTO_EX_DATA*, int, long, void*) {
    delete static_cast<shared_implementation*>(share);
}

/// The place in an SSL_CTX for its share in the implementation.
int place_of_share() {
    static const int place = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &let_go);
    return place;
}

}  // namespace

client_context::implementation::implementation(client_options o)
    : options_(std::move(o)), sessions_(options_.sessions), identity_(options_.identity) {
    auto provider = detail::load_provider(options_.provider);
    if (!provider) throw_exception(std::move(provider).error());
    provider_ = std::move(*provider);
    auto list = detail::protocol_list(options_.protocols);
    if (!list) throw_exception(std::move(list).error());
    protocols_ = std::move(*list);
    if (!options_.key_log.empty()) {
        if (auto opened = key_log_.open(options_.key_log); !opened) {
            throw_exception(std::move(opened).error());
        }
    }
}

void client_context::implementation::end() noexcept {
    detail::ssl_ctx_ptr last;
    const std::lock_guard hold(lock_);
    last = std::move(context_);
}

std::expected<void, error> client_context::implementation::load() {
    const std::lock_guard hold(loading_);
    return load_with(identity_);
}

std::expected<void, error> client_context::implementation::replace(certificate_source identity) {
    const std::lock_guard hold(loading_);
    auto loaded = load_with(identity);
    if (loaded) identity_ = std::move(identity);
    return loaded;
}

std::expected<void, error> client_context::implementation::load_with(
    const certificate_source& identity) {
    auto times = file_times(identity);
    auto fresh = prepare(identity);
    if (!fresh) return std::unexpected(std::move(fresh).error());
    read_at_ = std::move(times);
    const std::lock_guard hold(lock_);
    context_ = *std::move(fresh);
    has_identity_ = !identity.certificate.empty();
    // They stand for the certificates of before, both ours and those that were trusted.
    sessions_.clear();
    return {};
}

std::vector<std::int64_t> client_context::implementation::file_times(
    const certificate_source& identity) const {
    const std::string_view paths[] = {identity.certificate, identity.key.reveal(),
                                      options_.authorities};
    return detail::file_times(paths);
}

bool client_context::implementation::files_changed() {
    const std::lock_guard hold(loading_);
    return file_times(identity_) != read_at_;
}

std::expected<detail::ssl_ctx_ptr, error> client_context::implementation::prepare(
    const certificate_source& identity) {
    detail::ssl_ctx_ptr context(SSL_CTX_new(TLS_client_method()));
    if (context == nullptr) {
        return std::unexpected(detail::take_failure(errc::bad_option, "client_context"));
    }
    SSL_CTX* const c = context.get();
    if (auto done = detail::apply(c, options_); !done) return std::unexpected(done.error());
    if (!identity.certificate.empty()) {
        auto own = detail::read_credentials(identity);
        if (!own) return std::unexpected(std::move(own).error());
        if (auto used = detail::use(c, *own); !used) return std::unexpected(used.error());
    }
    if (!options_.key_log.empty()) SSL_CTX_set_keylog_callback(c, &implementation::log_key);
    if (auto shared = share_in(c); !shared) return std::unexpected(shared.error());
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(c, &implementation::remember);
    SSL_CTX_set_msg_callback(c, &detail::watch_message);
    if (options_.insecure) return context;
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, &detail::remember_refusal);
    if (auto trusted = trust(c); !trusted) return std::unexpected(trusted.error());
    return context;
}

std::expected<void, error> client_context::implementation::share_in(SSL_CTX* c) {
    auto share = std::make_unique<shared_implementation>(shared_from_this());
    if (SSL_CTX_set_ex_data(c, place_of_share(), share.get()) != 1) {
        return std::unexpected(detail::take_failure(errc::bad_option, "client_context"));
    }
    static_cast<void>(share.release());
    return {};
}

client_context::implementation& client_context::implementation::of(const SSL* s) {
    return **static_cast<shared_implementation*>(
        SSL_CTX_get_ex_data(SSL_get_SSL_CTX(s), place_of_share()));
}

std::expected<void, error> client_context::implementation::trust(SSL_CTX* c) const {
    if (options_.system_authorities && SSL_CTX_set_default_verify_paths(c) != 1) {
        return std::unexpected(detail::take_failure(errc::certificate_unreadable, "authorities"));
    }
    if (!options_.authorities.empty()) {
        auto more = detail::trust(SSL_CTX_get_cert_store(c), options_.authorities);
        if (!more) return std::unexpected(std::move(more).error());
    }
    if (options_.authority_folder.empty()) return {};
    return detail::trust_folder(c, options_.authority_folder);
}

bool client_context::implementation::has_identity() {
    const std::lock_guard hold(lock_);
    return has_identity_;
}

detail::ssl_ctx_ptr client_context::implementation::current() {
    const std::lock_guard hold(lock_);
    SSL_CTX_up_ref(context_.get());
    return detail::ssl_ctx_ptr(context_.get());
}

std::expected<detail::ssl_ptr, error> client_context::implementation::make(
    const std::string& host, const std::vector<std::string>& protocols) {
    auto offered = detail::protocol_list(protocols);
    if (!offered) return std::unexpected(std::move(offered).error());
    if (offered->empty()) *offered = protocols_;
    detail::ssl_ptr s(SSL_new(current().get()));
    if (s == nullptr) throw std::bad_alloc();
    const std::string name = detail::name_in_certificates(host);
    const bool address = detail::is_ip_address(name);
    X509_VERIFY_PARAM* const check = SSL_get0_param(s.get());
    X509_VERIFY_PARAM_set_hostflags(check, detail::host_flags);
    X509_VERIFY_PARAM_set_time(check, static_cast<time_t>(loop::current()->unix_time()));
    bool good = address ? X509_VERIFY_PARAM_set1_ip_asc(check, name.c_str()) == 1
                        : X509_VERIFY_PARAM_set1_host(check, name.c_str(), 0) == 1;
    // Also RFC 9525 section 6.3: no addresses in SNI.
    if (good && !address) good = SSL_set_tlsext_host_name(s.get(), name.c_str()) == 1;
    if (!offered->empty()) {
        SSL_set_alpn_protos(s.get(), reinterpret_cast<const unsigned char*>(offered->data()),
                            static_cast<unsigned>(offered->size()));
    }
    if (!good) {
        error e(std::errc::invalid_argument, "connect", phase::tls);
        ERR_clear_error();
        return std::unexpected(std::move(e.on(host)));
    }
    const auto earlier = sessions_.take(session_key(s.get()));
    if (earlier != nullptr) SSL_set_session(s.get(), earlier.get());
    return s;
}

int client_context::implementation::remember(SSL* s, SSL_SESSION* session) {
    implementation& self = of(s);
    // No exception may cross OpenSSL. Without memory the session is not cached.
    bool is_ours = false;
    try {
        const std::string key = session_key(s);
        if (key.empty()) return 0;
        detail::ssl_session_ptr owned(session);
        is_ours = true;
        const std::lock_guard hold(self.lock_);
        const bool is_current = SSL_get_SSL_CTX(s) == self.context_.get();
        if (is_current) self.sessions_.put(key, std::move(owned));
    } catch (const std::bad_alloc&) {
        return is_ours ? 1 : 0;
    }
    return 1;
}

void client_context::implementation::log_key(const SSL* s, const char* line) {
    of(s).key_log_.write(line);
}

client_context::client_context(client_options o)
    : inner_(std::make_shared<implementation>(std::move(o))) {
    if (auto loaded = inner_->load(); !loaded) throw_exception(std::move(loaded).error());
}

client_context::~client_context() {
    inner_->end();
}

const client_options& client_context::options() const noexcept {
    return inner_->options();
}

bool client_context::has_identity() const {
    return inner_->has_identity();
}

std::expected<void, error> client_context::replace(certificate_source identity) {
    return inner_->replace(std::move(identity));
}

std::expected<void, error> client_context::reload() {
    return inner_->load();
}

std::expected<bool, error> client_context::reload_if_changed() {
    if (!inner_->files_changed()) return false;
    auto loaded = inner_->load();
    if (!loaded) return std::unexpected(std::move(loaded).error());
    return true;
}

}  // namespace coracle::tls
