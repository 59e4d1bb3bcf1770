#pragma once

#include <coracle/http/h1/chunked_decoder.hpp>
#include <coracle/http/h1/head_parser.hpp>
#include <coracle/http/h1/head_writer.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// HTTP/1.1 without input and output (RFC 9112), for those who bring their own: `request_parser`
/// and `response_parser` take bytes and give heads, `chunked_decoder` takes a chunked body apart,
/// and what is declared here appends messages to a text. Nothing waits, no clock is read, and bytes
/// of a peer never throw.
namespace coracle::http::h1 {

/// Appends a request line and field lines, and the empty line that ends a head. Throws `exception`
/// (invalid_argument, naming the text) for a method that is no token, a target with a space or
/// control byte, and a field that is malformed or could end its line, and then appends nothing.
/// Which fields frame the body is the caller's business.
void append_request_head(std::string& out, std::string_view method, std::string_view target,
                         std::span<const field> fields);

/// Appends the head of a response with its status line; an empty `reason` stands for the registered
/// phrase. Throws also for a status outside of 100 to 999 and a reason with a control byte.
void append_response_head(std::string& out, status code, std::span<const field> fields,
                          std::string_view reason = {});

/// Appends a piece of a chunked body; nothing for an empty one, which would end it.
void append_chunk(std::string& out, std::string_view data);

/// Appends the end of a chunked body, with its trailer fields. Throws `exception`
/// (invalid_argument) for malformed fields and for those that only a head may hold (RFC 9110
/// section 6.5.1), and then appends nothing.
void append_last_chunk(std::string& out, std::span<const field> trailers = {});

}  // namespace coracle::http::h1
