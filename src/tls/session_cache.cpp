#include "tls/session_cache.hpp"

#include <algorithm>

namespace coracle::tls::detail {

void session_cache::put(std::string_view key, ssl_session_ptr session) {
    if (most_ == 0) return;
    const std::lock_guard hold(lock_);
    entries_.push_front({std::string(key), std::move(session)});
    forget_surplus(key);
    if (entries_.size() > most_) entries_.pop_back();
}

void session_cache::forget_surplus(std::string_view key) {
    std::size_t count = 0;
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
        if (at->key != key || ++count <= most_of_one_key) continue;
        entries_.erase(at);
        return;
    }
}

void session_cache::clear() {
    const std::lock_guard hold(lock_);
    entries_.clear();
}

ssl_session_ptr session_cache::take(std::string_view key) {
    const std::lock_guard hold(lock_);
    const auto at = std::find_if(entries_.begin(), entries_.end(),
                                 [key](const entry& e) { return e.key == key; });
    if (at == entries_.end()) return nullptr;
    if (SSL_SESSION_get_protocol_version(at->session.get()) < TLS1_3_VERSION) {
        SSL_SESSION_up_ref(at->session.get());
        return ssl_session_ptr(at->session.get());
    }
    ssl_session_ptr found = std::move(at->session);
    entries_.erase(at);
    return found;
}

}  // namespace coracle::tls::detail
