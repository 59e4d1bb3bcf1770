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
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    entry& e = *found->second;
    if (e.until <= now) {
        drop(e);
        return nullptr;
    }
    used_.push_back(e);
    return &e.response;
}

void response_cache::keep(const std::string& key, const verdict& response, time_point until) {
    if (most_ == 0) return;
    auto made = std::make_unique<entry>();
    const auto [place, is_new] = entries_.try_emplace(key);
    if (is_new) place->second = std::move(made);
    entry& e = *place->second;
    e.response = response;
    e.until = until;
    e.key = &place->first;
    used_.push_back(e);
    if (entries_.size() > most_) drop(*used_.front());
}

void response_cache::drop(entry& e) {
    entries_.erase(entries_.find(*e.key));
}

void response_cache::clear() noexcept {
    entries_.clear();
}

}  // namespace coracle::net::detail
