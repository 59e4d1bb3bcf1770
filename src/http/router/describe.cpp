#include "http/router/router_state.hpp"

#include <algorithm>
#include <array>

namespace coracle::http::detail {
namespace {

using row = std::array<std::string, 4>;

std::string joined(const std::vector<std::string>& methods) {
    std::string list;
    for (const std::string& m : methods) {
        if (!list.empty()) list += ", ";
        list += m;
    }
    return list;
}

row row_of(const route_info& r) {
    return {joined(r.methods), r.pattern.empty() ? "(a handler)" : r.pattern, r.name, r.host};
}

}  // namespace

std::vector<route_info> list_routes(router_state& state) {
    const route_table table = router_state::change(state).table();
    std::vector<route_info> all;
    for (auto& [record, methods] : table.list()) {
        std::ranges::replace(methods, std::string(), std::string("*"));
        const std::string_view name = table.names().name_of(record.get());
        all.push_back({std::move(methods), record->pattern.text, std::string(name), {}});
    }
    if (table.hosts() == nullptr) return all;
    for (const auto& host : table.hosts()->entries()) {
        if (!host.routes) {
            all.push_back({{"*"}, {}, {}, host.name});
            continue;
        }
        for (route_info& r : list_routes(*host.routes)) {
            if (r.host.empty()) r.host = host.name;
            all.push_back(std::move(r));
        }
    }
    return all;
}

std::string describe_routes(router_state& state) {
    const std::vector<route_info> routes = list_routes(state);
    if (routes.empty()) return {};
    std::vector<row> rows{row{"METHOD", "PATTERN", "NAME", "HOST"}};
    for (const route_info& r : routes) rows.push_back(row_of(r));
    std::array<std::size_t, 4> widths{};
    for (std::size_t i = 0; i != widths.size(); ++i) {
        // A column without content has no title either.
        const bool used =
            std::any_of(rows.begin() + 1, rows.end(), [i](const row& r) { return !r[i].empty(); });
        if (!used) continue;
        for (const row& r : rows) widths[i] = std::max(widths[i], r[i].size() + 2);
    }
    std::string text;
    for (const row& r : rows) {
        for (std::size_t i = 0; i != widths.size(); ++i) {
            if (widths[i] == 0) continue;
            text += r[i];
            text.append(widths[i] - r[i].size(), ' ');
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

}  // namespace coracle::http::detail
