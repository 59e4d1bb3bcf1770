#pragma once

#include "http/files/acceptable.hpp"

#include <coracle/http/files.hpp>

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// A query for a file in the served directory.
struct file_query {
    std::string_view path;  ///< below the root; safe by `is_safe_file_path`
    bool may_fall_back = false;
    coding_choice codings;
};

/// The result of a query.
struct found_file {
    enum class kind : std::uint8_t {
        file,
        slash_missing,  ///< a directory, requested without its slash
        listing,        ///< a directory to list
    };
    kind what = kind::file;
    fs::plain_file file;
    /// The path below the root, including the name of the index or the fallback.
    std::string name;
    /// The coding of the sibling that `file` is.
    content_coding coding = content_coding::identity;
    /// True for the fallback, which clients that do not accept a page do not get.
    bool fell_back = false;
};

/// Finds the file for a query: the file itself or its precompressed sibling, the index, the
/// fallback. With `lookup::cached` it fails with `resource_unavailable_try_again` where the disk is
/// needed. May run on any thread.
std::expected<found_file, error> find_file(const fs::directory& root, const file_options& options,
                                           const file_query& q, fs::lookup where);

/// Returns the extension of a precompressed sibling.
std::string_view extension_of(content_coding c) noexcept;

/// Returns true if a sibling is as new as its file: compressors that give their output the time of
/// the input cut it to the second.
bool is_fresh_sibling(const file_status& sibling, const file_status& file) noexcept;

/// Returns true for errors that mean that there is no such file.
bool leads_nowhere(const error& e) noexcept;

/// The media type of a name by the options, else by the library.
std::string_view media_type_for(const file_options& options, std::string_view name) noexcept;

/// Returns the Cache-Control of a path below the root.
std::string_view cache_control_for(const file_options& options, std::string_view path);

/// Returns true if files of this type have variants, for these options.
bool has_variants(const file_options& options, std::string_view media_type) noexcept;

}  // namespace coracle::http::detail
