#pragma once

#include "http/files/acceptable.hpp"

#include <coracle/http/files.hpp>

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// What a request asks of the directory that is served.
struct file_query {
    std::string_view path;  ///< beneath the root; safe by `is_safe_file_path`
    bool may_fall_back = false;
    coding_choice codings;
};

/// What a path leads to.
struct found_file {
    enum class kind : std::uint8_t {
        file,
        slash_missing,  ///< a directory, asked for without its slash
        listing,        ///< a directory to list
    };
    kind what = kind::file;
    fs::plain_file file;
    /// Its path beneath the root: with the index, or the fallback.
    std::string name;
    /// The coding of the sibling that `file` is.
    content_coding coding = content_coding::identity;
    /// Whether it is the fallback, which clients that do not ask for a page do not get.
    bool fell_back = false;
};

/// Finds what answers a query: the file or its precompressed sibling, the index, the fallback. With
/// `lookup::cached` it fails with `resource_unavailable_try_again` where the disk is needed. May
/// run on any thread.
std::expected<found_file, error> find_file(const fs::directory& root, const file_options& options,
                                           const file_query& q, fs::lookup where);

/// Whether an error means that there is nothing to find.
bool leads_nowhere(const error& e) noexcept;

/// The media type of a name by the options, else by the library.
std::string_view media_type_for(const file_options& options, std::string_view name) noexcept;

/// What Cache-Control a path beneath the root has.
std::string_view cache_control_for(const file_options& options, std::string_view path);

/// Whether files of this type have variants, for these options.
bool has_variants(const file_options& options, std::string_view media_type) noexcept;

}  // namespace coracle::http::detail
