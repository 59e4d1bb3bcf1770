// Parts of a multipart body that are written to files.

#include "base/ascii.hpp"
#include "http/body/save_pieces.hpp"

#include <coracle/mime/disposition.hpp>

namespace coracle::http {
namespace {

std::string random_name(loop& l) {
    std::string name;
    coracle::detail::append_hex(name, l.random());
    coracle::detail::append_hex(name, l.random());
    return name;
}

}  // namespace

operation<saved_file> multipart_part::save(std::string_view path) {
    const auto read = [this] { return this->read(); };
    return detail::save_pieces_at(read, std::string(path));
}

operation<saved_file> multipart_part::save_in(std::string_view directory, file_naming naming) {
    detail::destination to{std::string(directory), {}, fs::if_exists::fail};
    if (naming == file_naming::as_sent) to.name = mime::safe_filename(filename().value_or(""));
    if (to.name.empty()) to.name = random_name(*loop::current());
    const auto read = [this] { return this->read(); };
    return detail::save_pieces(read, std::move(to));
}

}  // namespace coracle::http
