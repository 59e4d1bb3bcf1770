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
        list += m.empty() ? "*" : m;
    }
    return list;
}

std::vector<row> rows_of(router_state& state) {
    router_state::change c(state);
    const route_table table = c.table();
    std::vector<row> rows;
    for (const auto& [record, methods] : table.list()) {
        const std::string name(table.names().name_of(record.get()));
        rows.push_back({joined(methods), record->pattern.text, name, ""});
    }
    if (table.hosts() == nullptr) return rows;
    for (const auto& host : table.hosts()->entries()) {
        if (!host.routes) {
            rows.push_back({"*", "(a handler)", "", host.name});
            continue;
        }
        for (row& r : rows_of(*host.routes)) {
            if (r[3].empty()) r[3] = host.name;
            rows.push_back(std::move(r));
        }
    }
    return rows;
}

}  // namespace

std::string describe_routes(router_state& state) {
    std::vector<row> rows = rows_of(state);
    if (rows.empty()) return {};
    rows.insert(rows.begin(), row{"METHOD", "PATTERN", "NAME", "HOST"});
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
