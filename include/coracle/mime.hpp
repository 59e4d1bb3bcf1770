#pragma once

/// @file
/// The formats of mail and of multipart bodies.

#include <coracle/mime/address.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/mime/date.hpp>
#include <coracle/mime/disposition.hpp>
#include <coracle/mime/encoded_word.hpp>
#include <coracle/mime/extended_parameter.hpp>
#include <coracle/mime/field.hpp>
#include <coracle/mime/mail_layout.hpp>
#include <coracle/mime/media_type.hpp>
#include <coracle/mime/message_parser.hpp>
#include <coracle/mime/multipart.hpp>
#include <coracle/mime/multipart_builder.hpp>
#include <coracle/mime/quoted_printable.hpp>
#include <coracle/mime/transfer_encoding.hpp>
