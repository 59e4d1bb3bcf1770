#include "http/router/route_table.hpp"

#include <coracle/base/error.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

/// Returns the value that `p` points to, after replacing it by a copy when other tables share it.
/// Tables are changed by one thread at a time, which also makes the copies that share.
template <class T>
T& own(std::shared_ptr<T>& p) {
    if (!p)
        p = std::make_shared<T>();
    else if (p.use_count() != 1)
        p = std::make_shared<T>(*p);
    return *p;
}

std::string_view shown(std::string_view method) noexcept {
    return method.empty() ? std::string_view("*") : method;
}

bool holds(const route_set& set, const record_ref& r) noexcept {
    return std::any_of(set.entries.begin(), set.entries.end(),
                       [&r](const route_set::entry& e) { return e.record == r; });
}

}  // namespace

route_table::route_table()
    : scopes_(std::make_shared<std::vector<route_scope>>(1)),
      names_(std::make_shared<route_names>()) {}

void route_table::refuse_existing(const std::vector<std::string>& methods,
                                  const route_record& r) const {
    const route_set* const there = routes_.find(r.pattern);
    if (there == nullptr) return;
    for (const std::string& m : methods) {
        const auto* const other = there->find_entry(m);
        if (other == nullptr) continue;
        const std::string_view method = shown(m);
        std::string about(method);
        about.append(" ").append(r.pattern.text).append(" matches the same requests as ");
        about.append(method).append(" ").append(other->record->pattern.text);
        throw_exception(error(errc::already_exists, "route").on(about));
    }
}

void route_table::add(const std::vector<std::string>& methods, const record_ref& record) {
    refuse_existing(methods, *record);
    route_set& set = routes_.at(record->pattern);
    for (const std::string& m : methods) {
        set.add(m, record);
        count(m, true);
    }
}

void route_table::replace(const std::vector<std::string>& methods,
                          const std::shared_ptr<route_record>& record) {
    route_set& set = routes_.at(record->pattern);
    std::vector<record_ref> gone;
    for (const std::string& m : methods) {
        if (const auto* const old = set.find_entry(m)) {
            gone.push_back(old->record);
            // A router that is mounted hands over its routes in this order.
            record->sequence = std::min(record->sequence, old->record->sequence);
            set.remove(m);
        } else {
            count(m, true);
        }
        set.add(m, record);
    }
    forget_names(set, gone);
}

void route_table::forget_names(const route_set& set, const std::vector<record_ref>& gone) {
    for (const record_ref& r : gone) {
        if (names_->name_of(r.get()).empty() || holds(set, r)) continue;
        own(names_).remove(r.get());
    }
}

bool route_table::remove(const std::vector<std::string>& methods, const pattern& p) {
    const route_set* there = routes_.find(p);
    if (there == nullptr) return false;
    std::vector<std::string> found;
    for (const std::string& m : methods) {
        if (there->find_entry(m) != nullptr) found.push_back(m);
    }
    if (found.empty()) return false;
    std::vector<record_ref> gone;
    route_set& set = routes_.at(p);
    for (const std::string& m : found) {
        gone.push_back(set.find_entry(m)->record);
        set.remove(m);
        count(m, false);
    }
    forget_names(set, gone);
    if (set.entries.empty()) routes_.erase(p);
    return true;
}

void route_table::name(std::string_view name, const record_ref& route) {
    const route_set* const there = routes_.find(route->pattern);
    // A name without a route could never be removed.
    if (there == nullptr || !holds(*there, route)) {
        throw_exception(error(std::errc::invalid_argument, "route")
                            .on(route->pattern.text + " cannot be called \"" + std::string(name) +
                                "\": it is not there any more"));
    }
    own(names_).add(name, route);
}

void route_table::add_host(std::string_view name, handler target,
                           std::shared_ptr<router_state> routes) {
    own(hosts_).add(name, std::move(target), std::move(routes));
}

void route_scope::add(route_scope&& other) {
    for (handler route_scope::* const each :
         {&route_scope::not_found, &route_scope::method_not_allowed, &route_scope::fallback,
          &route_scope::preflight, &route_scope::unknown_options}) {
        if (!(this->*each)) this->*each = std::move(other.*each);
    }
    for (page& p : other.pages) {
        const auto is_same = [&p](const page& own) { return own.code == p.code; };
        if (std::ranges::none_of(pages, is_same)) pages.push_back(std::move(p));
    }
}

std::vector<route_scope>& route_table::scopes_to_change() {
    return own(scopes_);
}

std::size_t route_table::add_scope(route_scope s) {
    auto& all = scopes_to_change();
    has_pages_ = has_pages_ || !s.pages.empty();
    for (std::size_t i = 1; i != all.size(); ++i) {
        if (all[i].prefix != s.prefix) continue;
        all[i].add(std::move(s));
        return i;
    }
    const auto opens = [&](const std::string& text, std::size_t number) {
        auto record = std::make_shared<route_record>();
        record->pattern = parse_pattern(text);
        record->scope = number;
        route_set& set = scope_tree_.at(record->pattern);
        if (set.entries.empty()) set.add({}, std::move(record));
    };
    opens(s.prefix, all.size());
    opens(s.prefix + "/{*rest of the scope}", all.size());
    all.push_back(std::move(s));
    return all.size() - 1;
}

void route_table::add_page(http::status code, handler make) {
    auto& pages = own_scope().pages;
    const auto same = std::find_if(pages.begin(), pages.end(),
                                   [code](const route_scope::page& p) { return p.code == code; });
    if (same != pages.end())
        same->make = std::move(make);
    else
        pages.push_back({code, std::move(make)});
    has_pages_ = true;
}

std::size_t route_table::narrowest_scope(std::string_view path) const {
    if (scopes_->size() == 1) return 0;
    route_match found;
    if (!scope_tree_.match(path, found)) return 0;
    return found.found->entries.front().record->scope;
}

const handler* route_table::page_for(http::status code, std::string_view path) const {
    if (!has_pages_) return nullptr;
    const handler* page = nullptr;
    scope_of(path, [&](const route_scope& s) {
        for (const route_scope::page& p : s.pages) {
            if (p.code == code) page = &p.make;
        }
        return page != nullptr;
    });
    return page;
}

void route_table::count(const std::string& method, bool more) {
    const auto at = std::find_if(methods_.begin(), methods_.end(),
                                 [&](const method_count& c) { return c.method == method; });
    if (at == methods_.end())
        methods_.push_back({method, 1});
    else if (more)
        ++at->routes;
    else if (--at->routes == 0)
        methods_.erase(at);
}

std::string route_table::all_methods() const {
    std::string list;
    bool has_options = false;
    bool has_head = false;
    bool has_get = false;
    const auto add = [&list](std::string_view name) {
        if (!list.empty()) list += ", ";
        list += name;
    };
    for (const method_count& c : methods_) {
        if (c.method.empty()) continue;
        add(c.method);
        has_options = has_options || c.method == "OPTIONS";
        has_head = has_head || c.method == "HEAD";
        has_get = has_get || c.method == "GET";
    }
    if (has_get && !has_head) add("HEAD");
    if (!has_options) add("OPTIONS");
    return list;
}

std::vector<route_table::listed_route> route_table::list() const {
    std::vector<listed_route> all;
    routes_.each([&all](const route_set& set) {
        const std::size_t first = all.size();
        for (const route_set::entry& e : set.entries) {
            const auto same =
                std::find_if(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                             [&e](const listed_route& l) { return l.record == e.record; });
            if (same != all.end())
                same->methods.push_back(e.method);
            else
                all.push_back({e.record, {e.method}});
        }
    });
    std::sort(all.begin(), all.end(), [](const listed_route& a, const listed_route& b) {
        return a.record->sequence < b.record->sequence;
    });
    return all;
}

}  // namespace coracle::http::detail
