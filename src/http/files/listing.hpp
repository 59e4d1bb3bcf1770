#pragma once

#include <coracle/fs/plain_file.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http::detail {

enum class listing_key : std::uint8_t { name, size, time };

struct listing_order {
    listing_key by = listing_key::name;
    bool descending = false;
};

/// From the query of a request: "sort=size&order=desc". What it does not know is as without.
listing_order parse_listing_order(std::string_view query) noexcept;

/// A directory to be shown.
struct listing {
    /// The path of the request, decoded, ending with a slash; its last `beneath` bytes lie beneath
    /// the root.
    std::string path;
    std::size_t beneath = 0;
    fs::directory_entries entries;
    std::size_t limit = 0;
};

/// Sorts: directories first, then by the key, then by name.
void sort_listing(fs::directory_entries& entries, listing_order order);

/// A page that needs nothing from elsewhere and no script. Names are escaped.
std::string listing_page(const listing& l, listing_order order);

/// {"path": ..., "truncated": ..., "entries": [{"name", "type", "size", "modified", "href"}, ...]}
std::string listing_json(const listing& l);

/// What the page may do in a browser.
inline constexpr std::string_view listing_policy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

}  // namespace coracle::http::detail
