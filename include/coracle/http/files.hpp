#pragma once

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/handler.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

/// The Cache-Control of files whose path below the root, with a slash in front, matches `glob`: "*"
/// stands for any number of bytes, slashes too, "?" for one, and all else for itself. A glob
/// without a slash is held against the last segment alone: "*.css".
struct cache_rule {
    std::string glob;
    std::string cache_control;
};

/// The media type of files with this extension, in any case: {"gpx", "application/gpx+xml"}.
struct media_type_rule {
    std::string extension;
    std::string media_type;
};

struct file_options {
    /// The route parameter that holds the path below the root, as in "/static/{*path}". Where the
    /// route has no such parameter, the whole path of the request is taken. Default "path".
    std::string param = "path";
    /// The file that is sent for a directory. Default "index.html"; empty: 404.
    std::string index = "index.html";
    /// Sent as Cache-Control where no rule of `cache` matches. Default: none.
    std::string cache_control = {};
    /// Serves names that begin with a dot. Default: they are not found, but for /.well-known/ (RFC
    /// 8615).
    bool hidden = false;
    /// The method of opening files. Default: as the kernel allows.
    fs::beneath_method how = fs::beneath_method::automatic;

    /// The first that matches sets Cache-Control. Default: none.
    std::vector<cache_rule> cache = {};
    /// Rules that go before the library's own table (`mime::media_type_of`). Default: none.
    std::vector<media_type_rule> media_types = {};
    /// Sends "X-Content-Type-Options: nosniff". Default: yes.
    bool nosniff = true;

    /// The file that is sent in place of a 404, with status 200: for applications that route in the
    /// browser. Only for GET and HEAD whose Accept names text/html and whose last segment has no
    /// dot; other requests stay 404. Default: none.
    std::string fallback = {};

    /// Sends `name.br`, `name.zst` or `name.gz`, which lies beside `name`, to clients that accept
    /// it, unless it is older than `name`; only for media types that compress well. Default: yes.
    bool precompressed = true;
    /// Compresses what compresses, once, on the threads for files. Default: yes.
    bool compress = true;
    /// Bytes of the files that are compressed, at least and at most. Default 1 KiB to 4 MiB.
    std::uint64_t compress_least = 1024;
    std::uint64_t compress_most = 4 * 1024 * 1024;
    /// Bytes that compressed files may take in memory, for all loops together; the least recently
    /// used go first. Default 32 MiB. One that alone is larger is not kept.
    std::size_t compress_cache = 32 * 1024 * 1024;

    /// Sends a list of the files for a directory without an index file: HTML, or JSON to clients
    /// that prefer it. Default: no.
    bool listing = false;
    /// Entries of a list; those beyond are left out, and the list says so. Default 10,000.
    std::size_t listing_entries = 10'000;
};

/// Serves the files below the directory `root` for GET and HEAD: media types by extension, strong
/// entity tags, Last-Modified, conditional requests, ranges, compressed variants with Vary,
/// directories by their index file or as a list. Nothing outside of `root` is reachable: not by
/// "..", encoded slashes, backslashes or NUL (404), and not by symbolic links, which are followed
/// only while they stay below it (and not at all on kernels without openat2). FIFOs, devices and
/// sockets are not found either. The directory is opened once: renaming it does no harm, replacing
/// it is not noticed.
///
/// Files that the kernel does not have in memory are looked up, and read up to 16 KiB, on the
/// threads for files (`runtime_options::file_threads`), as are directories and compression. Larger
/// files go by sendfile, which waits for the disk where it must. On kernels before 5.12 looking up
/// blocks the loop.
///
/// On the loop of a simulation the files are those of its disk, read whole: with validators,
/// ranges, listings and precompressed siblings, without compression. Made there, it does not look
/// whether there is a `root`.
///
/// Throws `exception` when `root` is no directory that can be opened.
handler serve_files(const std::string& root, file_options options = {});

/// Makes the response to a GET or HEAD with an open regular file: preconditions (RFC 9110 section
/// 13.2.2) and ranges (section 14; several are sent as multipart/byteranges) are applied; malformed
/// ranges are ignored. Call it on a loop: its clock decides whether Last-Modified is good enough
/// for If-Range. Of a directory it makes 404.
response file_response(const request& req, fs::plain_file file, std::string_view media_type,
                       std::string_view cache_control = {});

}  // namespace coracle::http
