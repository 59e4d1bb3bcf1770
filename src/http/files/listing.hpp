#pragma once

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/files.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

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

/// Reads the order from the query of a request: "sort=size&order=desc". Unknown values count as
/// missing.
listing_order parse_listing_order(std::string_view query) noexcept;

/// A directory to be shown.
struct listing {
    /// The path of the request, decoded, ending with a slash; its last `beneath` bytes lie below
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

/// Returns the text that shows the directory `path` below the root, sorted as the request demands.
std::string show_listing(const request& req, std::string_view path, fs::directory_entries entries,
                         const file_options& options, bool json);

response listing_response(std::string text, bool json);

}  // namespace coracle::http::detail
