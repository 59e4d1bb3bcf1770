#pragma once

/// @file
/// Media types, and the formats of multipart bodies.

#include <coracle/mime/base64.hpp>
#include <coracle/mime/disposition.hpp>
#include <coracle/mime/media_type.hpp>
#include <coracle/mime/multipart.hpp>
#include <coracle/mime/multipart_builder.hpp>
#include <coracle/mime/quoted_printable.hpp>
