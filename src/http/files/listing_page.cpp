#include "base/decimal.hpp"
#include "base/iso_time.hpp"
#include "base/utf8.hpp"
#include "http/files/listing.hpp"
#include "http/files/modified_time.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/mime/media_type.hpp>

#include <algorithm>

namespace coracle::http::detail {
namespace {

constexpr std::string_view style = R"(
:root{color-scheme:light dark;--bg:#fff;--text:#1c2430;--soft:#5d6878;--line:#e3e7ec;--hover:#f2f6fb;--link:#0b5cad;--icon:#7a8798;--dir:#2f7fd0}
@media(prefers-color-scheme:dark){:root{--bg:#14181e;--text:#e3e8ef;--soft:#98a4b3;--line:#2a313b;--hover:#1d242d;--link:#7cb8f5;--icon:#7f8c9d;--dir:#69aef2}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1.25rem 3rem}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
a:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:3px}
h1{margin:0;font-size:1.25rem;font-weight:600;overflow-wrap:anywhere}
h1 .sep{color:var(--soft);font-weight:400;margin:0 .3em}
p{margin:.25rem 0 1rem;color:var(--soft);font-size:.875rem}
p.note{padding:.5rem .75rem;border:1px solid var(--line);border-radius:6px}
table{width:100%;border-collapse:collapse}
th,td{padding:.45rem .5rem;text-align:left;border-bottom:1px solid var(--line)}
th{font-size:.8125rem;font-weight:500;color:var(--soft);white-space:nowrap}
th a{color:inherit}
th[aria-sort] a{color:var(--text)}
td.size,th.size{text-align:right;width:7rem}
td.time,th.time{text-align:right;width:11rem}
td.size,td.time{color:var(--soft);font-size:.875rem;font-variant-numeric:tabular-nums;white-space:nowrap}
td.name{overflow-wrap:anywhere}
td.name a{display:flex;gap:.65rem;align-items:flex-start}
svg{flex:none;width:1.25rem;height:1.25rem;margin-top:.125rem;fill:none;stroke:var(--icon);stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.dir svg{stroke:var(--dir)}
.defs{position:absolute;width:0;height:0}
tbody tr:hover{background:var(--hover)}
@media(max-width:40rem){
main{padding:1rem .75rem 2rem}
table,thead,tbody{display:block}
thead tr,tbody tr{display:flex;flex-wrap:wrap;column-gap:1rem;border-bottom:1px solid var(--line);padding:.5rem .25rem}
th,td{border:0;padding:0}
th.size,td.size,th.time,td.time{width:auto}
td.name{flex:0 0 100%}
td.name a{padding:.25rem 0}
td.size{padding-left:1.9rem}
td.time{margin-left:auto}
.dir td.size{display:none}
.dir td.time{margin-left:1.9rem}
})";

/// An icon for each kind of file, on a grid of 24.
constexpr std::string_view icons = R"(<svg class="defs" aria-hidden="true">
<symbol id="dir" viewBox="0 0 24 24"><path d="M3 6.5a1.5 1.5 0 0 1 1.5-1.5h4.6l2.4 2.5h8a1.5 1.5 0 0 1 1.5 1.5v9a1.5 1.5 0 0 1-1.5 1.5h-15a1.5 1.5 0 0 1-1.5-1.5z"/></symbol>
<symbol id="file" viewBox="0 0 24 24"><path d="M6 3h8l5 5v13H6zM14 3v5h5"/></symbol>
<symbol id="text" viewBox="0 0 24 24"><path d="M6 3h8l5 5v13H6zM14 3v5h5M9 12.5h7M9 16.5h7"/></symbol>
<symbol id="code" viewBox="0 0 24 24"><path d="M6 3h8l5 5v13H6zM14 3v5h5M11 12l-2.2 2.5L11 17M14 12l2.2 2.5L14 17"/></symbol>
<symbol id="image" viewBox="0 0 24 24"><path d="M4 5h16v14H4zM4 16l4.5-4.5 4 4 2.5-2.5 5 5"/><circle cx="15.5" cy="9" r="1.3"/></symbol>
<symbol id="audio" viewBox="0 0 24 24"><path d="M9 17.5V6l10-2v11.5"/><circle cx="6.5" cy="17.5" r="2.5"/><circle cx="16.5" cy="15.5" r="2.5"/></symbol>
<symbol id="video" viewBox="0 0 24 24"><path d="M3.5 5.5h17v13h-17zM10 9l5 3-5 3z"/></symbol>
<symbol id="archive" viewBox="0 0 24 24"><path d="M4 8h16v12H4zM3 4h18v4H3zM10 12h4"/></symbol>
<symbol id="up" viewBox="0 0 24 24"><path d="M9 6L4 11l5 5M4 11h10a5 5 0 0 1 5 5v2"/></symbol>
</svg>
)";

bool contains(std::string_view text, std::string_view part) noexcept {
    return text.find(part) != std::string_view::npos;
}

std::string_view icon_of(const fs::directory_entry& e) noexcept {
    if (e.kind == file_kind::directory) return "dir";
    const std::string_view type = mime::media_type_of(e.name);
    if (type.starts_with("image/")) return "image";
    if (type.starts_with("audio/")) return "audio";
    if (type.starts_with("video/")) return "video";
    for (const std::string_view part :
         {"zip", "x-tar", "compressed", "x-xz", "zstd", "brotli", "x-7z", "rar", "x-bzip2",
          "debian", "x-rpm", "iso9660", "x-lz", "diskimage", "java-archive"}) {
        if (contains(type, part) && !type.starts_with("text/")) return "archive";
    }
    for (const std::string_view part : {"text/plain", "markdown", "pdf", "msword", "document",
                                        "rtf", "epub", "csv", "text/x-rst", "text/org"}) {
        if (contains(type, part)) return "text";
    }
    for (const std::string_view part : {"text/", "json", "xml", "yaml", "toml", "sql", "wasm"}) {
        if (contains(type, part)) return "code";
    }
    return "file";
}

// Appends text, also for use between quotes. Invalid UTF-8 and control characters become U+FFFD.
void append_html(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const std::size_t size = coracle::detail::utf8_sequence(text);
        const char c = text.front();
        const bool control =
            static_cast<unsigned char>(c) < 0x20 || c == 0x7f ||
            (c == '\xc2' && size == 2 && static_cast<unsigned char>(text[1]) < 0xa0);
        if (size == 0 || control)
            out += "\xef\xbf\xbd";
        else if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else if (c == '\'')
            out += "&#39;";
        else
            out += text.substr(0, size);
        text.remove_prefix(size == 0 ? 1 : size);
    }
}

std::string human_size(std::uint64_t bytes) {
    constexpr const char* units[] = {"KB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) return std::to_string(bytes) + " B";
    std::size_t unit = 0;
    auto value = static_cast<double>(bytes) / 1000;
    // A value that would be shown as 1000 is shown in the next unit.
    for (; value >= 999.5; ++unit) value /= 1000;
    std::string text;
    coracle::detail::append_decimal(text, value, value < 9.95 ? 1 : 0);
    return text.append(" ").append(units[unit]);
}

std::string count_of(std::size_t n, const char* one, const char* many) {
    return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

void append_time(std::string& out, std::int64_t unix_time) {
    std::string iso;
    coracle::detail::append_iso_time(iso, unix_time);
    out += "<time datetime=\"" + iso + "\">";
    // To the minute: "2000-10-10 13:55".
    const std::size_t minute = iso.rfind(':');
    iso[iso.find('T')] = ' ';
    out += iso.substr(0, minute) + "</time>";
}

/// Appends the path, each segment of it a link upwards. Relative, so that it holds after a proxy
/// that cuts a prefix.
void append_crumbs(std::string& out, const listing& l) {
    std::string_view path = l.path;
    const std::string_view above = path.substr(0, path.size() - l.beneath);
    std::string_view rest = path.substr(path.size() - l.beneath);
    auto depth = static_cast<std::size_t>(std::count(rest.begin(), rest.end(), '/'));
    const auto link = [&](std::string_view name) {
        std::string href = "./";
        for (std::size_t i = 0; i != depth; ++i) href += "../";
        out += depth == 0 ? "<span aria-current=\"page\">" : "<a href=\"" + href + "\">";
        out += "<bdi>";
        append_html(out, name);
        out += depth == 0 ? "</bdi></span>" : "</bdi></a>";
    };
    link(above);
    while (!rest.empty()) {
        const std::size_t slash = rest.find('/');
        --depth;
        if (!out.ends_with("/</bdi></a>"))
            out += "<span class=\"sep\">/</span>";
        else
            out += ' ';
        link(rest.substr(0, slash));
        rest.remove_prefix(slash + 1);
    }
}

void append_summary(std::string& out, const listing& l) {
    std::size_t directories = 0;
    std::uint64_t bytes = 0;
    for (const fs::directory_entry& e : l.entries.list) {
        directories += e.kind == file_kind::directory;
        bytes += e.size;
    }
    const std::size_t files = l.entries.list.size() - directories;
    out += "<p>";
    if (l.entries.list.empty()) out += "Nothing is in here.";
    if (directories != 0) out += count_of(directories, "directory", "directories");
    if (directories != 0 && files != 0) out += ", ";
    if (files != 0) out += count_of(files, "file", "files") + ", " + human_size(bytes);
    out += "</p>\n";
    if (!l.entries.truncated) return;
    out += "<p class=\"note\">There are more: only " + std::to_string(l.limit) +
           " entries are shown.</p>\n";
}

void append_column(std::string& out, listing_order now, listing_key key, const char* name,
                   const char* label) {
    const bool sorted = now.by == key;
    const bool descend = sorted && !now.descending;
    out += std::string("<th scope=\"col\" class=\"") + name + '"';
    if (sorted) out += now.descending ? " aria-sort=\"descending\"" : " aria-sort=\"ascending\"";
    out +=
        std::string("><a href=\"?sort=") + name + (descend ? "&amp;order=desc\">" : "\">") + label;
    if (sorted) out += now.descending ? " \xe2\x86\x93" : " \xe2\x86\x91";
    out += "</a></th>";
}

void append_row(std::string& out, const fs::directory_entry& e) {
    const bool directory = e.kind == file_kind::directory;
    out += directory ? "<tr class=\"dir\">" : "<tr>";
    out += "<td class=\"name\"><a href=\"./" + percent_encode(e.name) + (directory ? "/" : "");
    out += "\"><svg aria-hidden=\"true\"><use href=\"#";
    out += icon_of(e);
    out += "\"/></svg><bdi>";
    append_html(out, e.name);
    out += directory ? "/</bdi></a></td>" : "</bdi></a></td>";
    out += "<td class=\"size\">";
    if (!directory) {
        out += "<span title=\"" + std::to_string(e.size) + " bytes\">" + human_size(e.size) +
               "</span>";
    }
    out += "</td><td class=\"time\">";
    append_time(out, second_of(e.modified_ns));
    out += "</td></tr>\n";
}

}  // namespace

std::string listing_page(const listing& l, listing_order order) {
    std::string out;
    out.reserve(8192 + l.entries.list.size() * 400);
    out +=
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>";
    append_html(out, l.path);
    out += "</title>\n<style>";
    out += style;
    out += "\n</style>\n</head>\n<body>\n";
    out += icons;
    out += "<main>\n<h1>";
    append_crumbs(out, l);
    out += "</h1>\n";
    append_summary(out, l);
    out += "<table>\n<thead><tr>";
    append_column(out, order, listing_key::name, "name", "Name");
    append_column(out, order, listing_key::size, "size", "Size");
    append_column(out, order, listing_key::time, "time", "Modified (UTC)");
    out += "</tr></thead>\n<tbody>\n";
    if (l.beneath != 0) {
        out +=
            "<tr class=\"dir\"><td class=\"name\"><a href=\"../\"><svg aria-hidden=\"true\">"
            "<use href=\"#up\"/></svg>Up</a></td><td class=\"size\"></td>"
            "<td class=\"time\"></td></tr>\n";
    }
    for (const fs::directory_entry& e : l.entries.list) append_row(out, e);
    out += "</tbody>\n</table>\n</main>\n</body>\n</html>\n";
    return out;
}

}  // namespace coracle::http::detail
