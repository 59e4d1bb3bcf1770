#pragma once

/// Marks what the library and its users must share even where they are compiled with
/// -fvisibility=hidden: variables that headers define. All else needs no mark: the shared library
/// exports what public headers declare (docs/packaging.md).
#define CORACLE_EXPORT [[gnu::visibility("default")]]
