#include "http/files/listing.hpp"

#include "base/ascii.hpp"
#include "base/iso_time.hpp"
#include "base/json_text.hpp"
#include "http/files/file_path.hpp"
#include "http/files/modified_time.hpp"

#include <coracle/base/percent.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

// The content security policy of the page.
constexpr std::string_view listing_policy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

int compare_names(std::string_view a, std::string_view b) noexcept {
    const auto n = std::min(a.size(), b.size());
    for (std::size_t i = 0; i != n; ++i) {
        const auto x = static_cast<unsigned char>(coracle::detail::lower(a[i]));
        const auto y = static_cast<unsigned char>(coracle::detail::lower(b[i]));
        if (x != y) return x < y ? -1 : 1;
    }
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    return a.compare(b);
}

}  // namespace

listing_order parse_listing_order(std::string_view query) noexcept {
    listing_order order;
    while (!query.empty()) {
        const std::size_t end = query.find('&');
        const std::string_view pair = query.substr(0, end);
        if (pair == "sort=size") order.by = listing_key::size;
        if (pair == "sort=time") order.by = listing_key::time;
        if (pair == "order=desc") order.descending = true;
        query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    }
    return order;
}

void sort_listing(fs::directory_entries& entries, listing_order order) {
    const auto before = [order](const fs::directory_entry& a, const fs::directory_entry& b) {
        if (a.kind != b.kind) return a.kind == file_kind::directory;
        const fs::directory_entry& x = order.descending ? b : a;
        const fs::directory_entry& y = order.descending ? a : b;
        if (order.by == listing_key::size && x.size != y.size) return x.size < y.size;
        if (order.by == listing_key::time && x.modified_ns != y.modified_ns) {
            return x.modified_ns < y.modified_ns;
        }
        const int names = compare_names(a.name, b.name);
        return order.by == listing_key::name && order.descending ? names > 0 : names < 0;
    };
    std::sort(entries.list.begin(), entries.list.end(), before);
}

std::string listing_json(const listing& l) {
    std::string out = "{\"path\":";
    coracle::detail::append_json_text(out, l.path);
    out += ",\"truncated\":";
    out += l.entries.truncated ? "true" : "false";
    out += ",\"entries\":[";
    const char* separator = "\n";
    for (const fs::directory_entry& e : l.entries.list) {
        const bool directory = e.kind == file_kind::directory;
        out += separator;
        separator = ",\n";
        out += "{\"name\":";
        coracle::detail::append_json_text(out, e.name);
        out += directory ? ",\"type\":\"directory\"" : ",\"type\":\"file\",\"size\":";
        if (!directory) out += std::to_string(e.size);
        out += ",\"modified\":\"";
        coracle::detail::append_iso_time(out, second_of(e.modified_ns));
        out += "\",\"href\":\"./" + percent_encode(e.name) + (directory ? "/\"}" : "\"}");
    }
    out += "\n]}\n";
    return out;
}

std::string show_listing(const request& req, std::string_view path, fs::directory_entries entries,
                         const file_options& options, bool json) {
    // Drops names whose status could not be read.
    std::erase_if(entries.list, [&](const fs::directory_entry& e) {
        return !is_safe_file_path(e.name, options.hidden);
    });
    const listing_order order = parse_listing_order(req.query_text());
    listing l{std::string(req.path()), path.size(), std::move(entries), options.listing_entries};
    sort_listing(l.entries, order);
    return json ? listing_json(l) : listing_page(l, order);
}

response listing_response(std::string text, bool json) {
    response r;
    r.set_body(body(std::move(text)), json ? "application/json" : "text/html; charset=utf-8");
    r.fields().add("Cache-Control", "no-cache");
    r.fields().add("Vary", "Accept");
    r.fields().add("X-Content-Type-Options", "nosniff");
    r.fields().add("Content-Security-Policy", listing_policy);
    return r;
}

}  // namespace coracle::http::detail
