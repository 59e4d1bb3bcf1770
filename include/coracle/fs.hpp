#pragma once

/// @file
/// Files, names, directories and watching for changes.

#include <coracle/fs/copy.hpp>
#include <coracle/fs/file.hpp>
#include <coracle/fs/file_call.hpp>
#include <coracle/fs/line_file.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/open_flags.hpp>
#include <coracle/fs/plain_file.hpp>
#include <coracle/fs/temporary.hpp>
#include <coracle/fs/walk.hpp>
#include <coracle/fs/watch.hpp>
#include <coracle/fs/whole_file.hpp>
