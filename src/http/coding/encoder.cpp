#include "http/coding/encoder.hpp"

namespace coracle::http::detail {

std::unique_ptr<encoder> make_encoder(content_coding coding) {
    switch (coding) {
        case content_coding::brotli: return make_brotli_encoder();
        case content_coding::zstd: return make_zstd_encoder();
        default: return make_zlib_encoder(coding);
    }
}

}  // namespace coracle::http::detail
