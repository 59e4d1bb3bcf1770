#include "net/resolver/cache.hpp"

namespace coracle::net::detail {

std::string question_key(std::string_view name, record_kind wanted) {
    std::string key(name);
    switch (wanted) {
        case record_kind::v4: key += " 4"; break;
        case record_kind::v6: key += " 6"; break;
        case record_kind::mail: key += " mail"; break;
    }
    return key;
}

const verdict* response_cache::find(const std::string& key, time_point now) {
    const entry* const found = entries_.use(key);
    if (found == nullptr) return nullptr;
    if (found->until > now) return &found->response;
    entries_.take(key);
    return nullptr;
}

void response_cache::keep(const std::string& key, const verdict& response, time_point until) {
    if (most_ == 0) return;
    entries_.put(key, {response, until});
    if (entries_.size() > most_) entries_.take_oldest();
}

void response_cache::clear() noexcept {
    entries_.clear();
}

}  // namespace coracle::net::detail
