#pragma once

#include "http/files/file_lookup.hpp"

#include <coracle/runtime/task.hpp>

#include <string>

namespace coracle::http::detail {

/// Returns true if the current loop runs on a backend that has files of its own: a simulated one.
bool has_own_files() noexcept;

/// Responds to a GET or HEAD with the files that such a backend has below the path `root`: the
/// file, the index or the fallback, read whole, or its precompressed sibling, with validators and
/// ranges; and listings. Nothing is compressed here. The arguments must live until the task ends.
task<response> respond_from_backend(const std::string& root, const file_options& options,
                                    const request& req, file_query q);

}  // namespace coracle::http::detail
