#include "http/write_from_source.hpp"

#include <coracle/http/body_io.hpp>
#include <coracle/http/from_source.hpp>

namespace coracle::http {

response from_source(std::unique_ptr<io::source> from, std::optional<std::uint64_t> size,
                     std::string_view type) {
    response r = stream({}, type);
    const std::string_view kept_type = r.default_type();
    if (!size || !from->seek(0)) {
        r.set_body(body_from(std::move(from), size), kept_type);
        return r;
    }
    auto part = [from = std::move(from)](body_writer& out, std::uint64_t offset,
                                         std::uint64_t count) {
        // If it cannot seek, fewer bytes than announced are written, which the client sees.
        return detail::write_from_source(from.get(), &out, from->seek(offset) ? count : 0);
    };
    r.set_body(body::seekable(std::move(part), *size), kept_type);
    return r;
}

}  // namespace coracle::http
