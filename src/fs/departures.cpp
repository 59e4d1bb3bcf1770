#include "fs/departures.hpp"

#include <utility>

namespace coracle::fs::detail {

bool departures::cover(std::string_view path) const noexcept {
    for (;;) {
        if (by_path_.contains(path)) return true;
        const std::size_t slash = path.rfind('/');
        if (slash == std::string_view::npos || slash == 0) return false;
        path.remove_suffix(path.size() - slash);
    }
}

void departures::add(departure d) {
    const place at = all_.insert(all_.end(), std::move(d));
    by_path_.emplace(at->path, at);
    by_cookie_.insert_or_assign(at->cookie, at);
}

departure departures::remove(place at) {
    by_path_.erase(at->path);
    // The numbers wrap around.
    const auto known = by_cookie_.find(at->cookie);
    if (known != by_cookie_.end() && known->second == at) by_cookie_.erase(known);
    departure d = std::move(*at);
    all_.erase(at);
    return d;
}

departures::taken departures::take_first() {
    if (all_.empty()) return std::nullopt;
    return remove(all_.begin());
}

departures::taken departures::take(const std::string& path) {
    const auto found = by_path_.find(path);
    if (found == by_path_.end()) return std::nullopt;
    return remove(found->second);
}

departures::taken departures::take(std::uint32_t cookie) {
    const auto found = by_cookie_.find(cookie);
    if (found == by_cookie_.end()) return std::nullopt;
    return remove(found->second);
}

std::map<std::string_view, departures::place>::iterator departures::first_below(
    const std::string& directory) {
    const std::string begin = directory.ends_with('/') ? directory : directory + '/';
    const auto first = by_path_.lower_bound(begin);
    return first != by_path_.end() && first->first.starts_with(begin) ? first : by_path_.end();
}

departures::taken departures::take_below(const std::string& directory) {
    const auto first = first_below(directory);
    if (first == by_path_.end()) return std::nullopt;
    return remove(first->second);
}

void departures::rename_below(const std::string& from, const std::string& to) {
    std::list<place> renamed;
    for (auto first = first_below(from); first != by_path_.end(); first = first_below(from)) {
        renamed.push_back(first->second);
        by_path_.erase(first);
    }
    for (const place at : renamed) {
        at->path = to + at->path.substr(from.size());
        by_path_.emplace(at->path, at);
    }
}

void departures::clear() noexcept {
    by_path_.clear();
    by_cookie_.clear();
    all_.clear();
}

}  // namespace coracle::fs::detail
