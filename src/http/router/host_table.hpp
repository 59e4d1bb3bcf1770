#pragma once

#include <coracle/http/handler.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

class router_state;

/// The handlers of hosts. Names are kept in lower case.
class host_table {
public:
    /// Bytes of a host name (RFC 1035 section 2.3.4).
    static constexpr std::size_t longest_name = 253;

    struct entry {
        std::string name;  ///< "example.com", or "*.example.com"
        handler target;
        std::shared_ptr<router_state> routes;  ///< the state of the handler, if it is a router
    };

    /// Adds a handler. Throws `exception`: invalid_argument for an invalid name, already_exists if
    /// the name has a handler.
    void add(std::string_view name, handler target, std::shared_ptr<router_state> routes);

    /// Returns the handler of `host[:port]`: that of its name, else of the longest matching
    /// wildcard; or null.
    const handler* find(std::string_view host) const noexcept;

    const std::vector<entry>& entries() const noexcept { return entries_; }

private:
    const entry* look_up(std::string_view name) const noexcept;

    std::vector<entry> entries_;  ///< sorted by name
};

}  // namespace coracle::http::detail
