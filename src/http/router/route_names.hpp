#pragma once

#include "http/router/route_set.hpp"

#include <coracle/http/router.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// Routes by name, sorted.
class route_names {
public:
    struct entry {
        std::string name;
        record_ref route;
    };

    /// Throws `exception` (already_exists), naming both routes, if another route has the name.
    void add(std::string_view name, record_ref route);
    void remove(const route_record* route);
    /// Returns null if there is no such name.
    const route_record* find(std::string_view name) const noexcept;
    /// Empty when it has none.
    std::string_view name_of(const route_record* route) const noexcept;
    const std::vector<entry>& entries() const noexcept { return entries_; }

private:
    std::vector<entry> entries_;
};

/// Returns the path, encoded, that `route` matches with these values. Throws `exception`
/// (invalid_argument) as `router::url` does.
std::string build_path(const route_record& route, std::span<const url_param> values);

}  // namespace coracle::http::detail
