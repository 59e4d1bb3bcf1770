#include "http/h1/body_end.hpp"

#include <coracle/http/h1/head_writer.hpp>

namespace coracle::http::h1 {

void append_body_end(buffer& out, const fields* trailers) {
    std::size_t bound = last_chunk_size + head_end_size;
    if (trailers != nullptr) {
        for (const field& f : *trailers) bound += field_size(f.name, f.value);
    }
    out.reserve_spare(bound);
    char* const begin = out.spare();
    char* end = write_last_chunk(begin);
    if (trailers != nullptr) {
        for (const field& f : *trailers) end = write_field(end, f.name, f.value);
    }
    end = write_head_end(end);
    out.commit(static_cast<std::size_t>(end - begin));
}

}  // namespace coracle::http::h1
