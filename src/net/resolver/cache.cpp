#include "net/resolver/cache.hpp"

namespace coracle::net::detail {

std::string question_key(std::string_view name, net::family wanted) {
    std::string key(name);
    key += wanted == net::family::v4 ? " 4" : " 6";
    return key;
}

const verdict* answer_cache::find(const std::string& key, time_point now) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    entry& e = *found->second;
    if (e.until <= now) {
        drop(e);
        return nullptr;
    }
    used_.push_back(e);
    return &e.answer;
}

void answer_cache::keep(const std::string& key, const verdict& answer, time_point until) {
    if (most_ == 0) return;
    const auto [place, is_new] = entries_.try_emplace(key);
    if (is_new) place->second = std::make_unique<entry>();
    entry& e = *place->second;
    e.answer = answer;
    e.until = until;
    e.key = &place->first;
    used_.push_back(e);
    if (entries_.size() > most_) drop(*used_.front());
}

void answer_cache::drop(entry& e) {
    entries_.erase(entries_.find(*e.key));
}

void answer_cache::clear() noexcept {
    entries_.clear();
}

}  // namespace coracle::net::detail
