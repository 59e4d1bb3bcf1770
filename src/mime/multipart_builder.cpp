#include "base/ascii.hpp"
#include "mime/parameters.hpp"

#include <coracle/mime/disposition.hpp>
#include <coracle/mime/multipart_builder.hpp>

#include <utility>

namespace coracle::mime {
namespace {

std::string file_head(multipart_writer& writer, std::string_view name, std::string_view filename,
                      std::string_view media_type) {
    const std::string disposition =
        format_disposition({"form-data", std::string(name), std::string(filename)});
    const part_field fields[] = {{"Content-Disposition", disposition},
                                 {"Content-Type", media_type}};
    return writer.open_part(fields);
}

}  // namespace

// No line of text or base64 begins with "--" and this many hexadecimal digits by chance, and
// without the seed no attacker can make one.
multipart_writer::multipart_writer(boundary_seed seed) : boundary_("coracle-") {
    coracle::detail::append_hex(boundary_, seed.high);
    coracle::detail::append_hex(boundary_, seed.low);
}

std::string multipart_writer::content_type(std::string_view subtype) const {
    if (!detail::is_token(subtype)) {
        throw_exception(error(std::errc::invalid_argument, "multipart type").on(subtype));
    }
    return std::string("multipart/").append(subtype).append("; boundary=").append(boundary_);
}

std::string multipart_writer::open_part(std::span<const part_field> fields) {
    std::string out = begun_ ? "\r\n--" : "--";
    out.append(boundary_).append("\r\n");
    for (const part_field& f : fields) {
        if (!detail::is_token(f.name) || !detail::is_field_value(f.value)) {
            throw_exception(error(std::errc::invalid_argument, "multipart field"));
        }
        out.append(f.name).append(": ").append(f.value).append("\r\n");
    }
    begun_ = true;
    return out += "\r\n";
}

std::string multipart_writer::close() const {
    std::string out = begun_ ? "\r\n--" : "--";
    return out.append(boundary_).append("--\r\n");
}

multipart_builder& multipart_builder::add(std::string_view name, std::string_view value) {
    const std::string disposition =
        format_disposition({"form-data", std::string(name), std::nullopt});
    const part_field field{"Content-Disposition", disposition};
    return add_part({&field, 1}, value);
}

multipart_builder& multipart_builder::add_file(std::string_view name, std::string_view filename,
                                               std::string_view media_type,
                                               std::string_view content) {
    open_ += file_head(writer_, name, filename, media_type);
    open_ += content;
    return *this;
}

multipart_builder& multipart_builder::add_part(std::span<const part_field> fields,
                                               std::string_view content) {
    open_ += writer_.open_part(fields);
    open_ += content;
    return *this;
}

multipart_builder& multipart_builder::add_external(std::string_view name, std::string_view filename,
                                                   std::string_view media_type,
                                                   std::uint64_t size) {
    open_ += file_head(writer_, name, filename, media_type);
    segments_.push_back({std::exchange(open_, {}), size});
    return *this;
}

std::vector<multipart_builder::segment> multipart_builder::segments() const {
    auto all = segments_;
    all.push_back({open_ + writer_.close(), 0});
    return all;
}

std::uint64_t multipart_builder::size() const {
    std::uint64_t all = open_.size() + writer_.close().size();
    for (const segment& s : segments_) all += s.bytes.size() + s.external;
    return all;
}

std::string multipart_builder::text() const {
    std::string all;
    for (const segment& s : segments_) all += s.bytes;
    return all + open_ + writer_.close();
}

}  // namespace coracle::mime
