#include "coding/encoder.hpp"

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

namespace coracle::coding {

std::unique_ptr<encoder> make_encoder(content_coding coding, encoder_level level) {
    switch (coding) {
        case content_coding::brotli: return make_brotli_encoder(level);
        case content_coding::zstd: return make_zstd_encoder(level);
        default: return make_zlib_encoder(coding, level);
    }
}

std::string encoder_version(content_coding coding) {
    switch (coding) {
        case content_coding::brotli: return std::to_string(BrotliEncoderVersion());
        case content_coding::zstd: return ZSTD_versionString();
        default: return zlibVersion();
    }
}

}  // namespace coracle::coding
