#pragma once

#include <coracle/http/body.hpp>
#include <coracle/mime/multipart_builder.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

/// The body of a multipart request (RFC 7578, RFC 2046 section 5.1): parts from memory, from files
/// that are read while it is sent, or written by functions; parts may be bodies of several parts
/// themselves.
///
///     auto parts = http::form_body();
///     parts.add("name", "Ada").add_file("photo", "ada.jpg", "image/jpeg");
///     co_await client.post(url).multipart(std::move(parts));
///
/// Move-only; not thread-safe. The constructor and the setters throw `exception`:
/// `invalid_argument` when a text could end its line or is no token where there must be one, and as
/// open(2) does. What throws adds nothing.
class form_body {
public:
    /// `subtype` is "form-data", "mixed", "alternative", "related".
    explicit form_body(std::string_view subtype = "form-data");
    form_body(form_body&&) noexcept;
    form_body& operator=(form_body&&) noexcept;
    ~form_body();

    /// A field of a form.
    form_body& add(std::string_view name, std::string_view value);
    /// A file of a form, from memory.
    form_body& add_data(std::string_view name, std::string_view filename, std::string content,
                        std::string_view media_type = "application/octet-stream");
    /// A file of a form, opened now and read while it is sent. The server gets `filename`, or
    /// without one the last part of the path.
    form_body& add_file(std::string_view name, const std::string& path,
                        std::string_view media_type = "application/octet-stream",
                        std::optional<std::string_view> filename = std::nullopt);
    /// A file of a form that `write` makes; with a size, so many bytes. It is sent once.
    form_body& add_stream(std::string_view name, std::string_view filename,
                          std::string_view media_type, body::stream_function write,
                          std::optional<std::uint64_t> size = std::nullopt);
    /// Alternatives and their like, as a part of this one; `name` may be empty.
    form_body& add(std::string_view name, form_body inner);
    /// Adds a part of any kind: its lines before the content are these.
    form_body& add_part(std::vector<mime::part_field> fields, std::string content);

    /// The body with a boundary of these bits, its media type, and whether it can be made again.
    /// For the client.
    struct made {
        http::body content;
        std::string type;
        bool again = true;
    };
    made make(mime::boundary_seed seed);
    /// Returns true if `made::again` will be true.
    bool can_be_made_again() const noexcept;

private:
    struct part;
    struct segment;
    void write_into(std::vector<segment>& out, mime::boundary_seed seed, std::string& type);

    std::string subtype_;
    std::vector<part> parts_;
};

}  // namespace coracle::http
