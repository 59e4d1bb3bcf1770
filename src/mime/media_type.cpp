#include <coracle/mime/media_type.hpp>

#include <algorithm>
#include <iterator>

namespace coracle::mime {
namespace {

struct entry {
    std::string_view extension;
    std::string_view type;
};

// By the IANA registry where it has a type, else by use. Formats whose registration says how their
// character set is found (JSON, XML) carry no charset.
constexpr entry table[] = {
    {"7z", "application/x-7z-compressed"},
    {"aac", "audio/aac"},
    {"apk", "application/vnd.android.package-archive"},
    {"apng", "image/apng"},
    {"atom", "application/atom+xml"},
    {"avi", "video/x-msvideo"},
    {"avif", "image/avif"},
    {"bin", "application/octet-stream"},
    {"bmp", "image/bmp"},
    {"br", "application/x-brotli"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c; charset=utf-8"},
    {"cc", "text/x-c; charset=utf-8"},
    {"cfg", "text/plain; charset=utf-8"},
    {"conf", "text/plain; charset=utf-8"},
    {"cpp", "text/x-c; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"deb", "application/vnd.debian.binary-package"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"eot", "application/vnd.ms-fontobject"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"geojson", "application/geo+json"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"h", "text/x-c; charset=utf-8"},
    {"heic", "image/heic"},
    {"hpp", "text/x-c; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"html", "text/html; charset=utf-8"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ics", "text/calendar; charset=utf-8"},
    {"ini", "text/plain; charset=utf-8"},
    {"iso", "application/x-iso9660-image"},
    {"jar", "application/java-archive"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"jsonld", "application/ld+json"},
    {"jxl", "image/jxl"},
    {"log", "text/plain; charset=utf-8"},
    {"m3u8", "application/vnd.apple.mpegurl"},
    {"m4a", "audio/mp4"},
    {"m4v", "video/mp4"},
    {"map", "application/json"},
    {"md", "text/markdown; charset=utf-8"},
    {"mid", "audio/midi"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"mkv", "video/x-matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"mpd", "application/dash+xml"},
    {"mpeg", "video/mpeg"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"oga", "audio/ogg"},
    {"ogg", "audio/ogg"},
    {"ogv", "video/ogg"},
    {"opus", "audio/ogg"},
    {"otf", "font/otf"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"ppt", "application/vnd.ms-powerpoint"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"ps", "application/postscript"},
    {"py", "text/x-python; charset=utf-8"},
    {"rar", "application/vnd.rar"},
    {"rpm", "application/x-rpm"},
    {"rss", "application/rss+xml"},
    {"rtf", "application/rtf"},
    {"sh", "text/x-shellscript; charset=utf-8"},
    {"sql", "application/sql"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"ts", "video/mp2t"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain; charset=utf-8"},
    {"vtt", "text/vtt; charset=utf-8"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"weba", "audio/webm"},
    {"webm", "video/webm"},
    {"webmanifest", "application/manifest+json"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xhtml", "application/xhtml+xml"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
};

constexpr bool by_extension(const entry& a, const entry& b) noexcept {
    return a.extension < b.extension;
}
static_assert(std::is_sorted(std::begin(table), std::end(table), by_extension));

constexpr std::size_t longest_extension() noexcept {
    std::size_t longest = 0;
    for (const entry& e : table) longest = std::max(longest, e.extension.size());
    return longest;
}

}  // namespace

std::string_view media_type_of(std::string_view name) noexcept {
    // Of what follows the last dot of the last segment; a leading dot begins a hidden name.
    const std::size_t slash = name.rfind('/');
    if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return unknown_media_type;
    const std::string_view given = name.substr(dot + 1);

    char lower[longest_extension()];
    if (given.size() > sizeof lower) return unknown_media_type;
    for (std::size_t i = 0; i != given.size(); ++i) {
        const char c = given[i];
        lower[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    }
    const entry key{std::string_view(lower, given.size()), {}};
    const entry* found = std::lower_bound(std::begin(table), std::end(table), key, by_extension);
    const bool known = found != std::end(table) && found->extension == key.extension;
    return known ? found->type : unknown_media_type;
}

}  // namespace coracle::mime
