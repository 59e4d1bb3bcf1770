#include "coding/encoder.hpp"

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
        case content_coding::brotli: return version_of_brotli();
        case content_coding::zstd: return version_of_zstd();
        default: return version_of_zlib();
    }
}

}  // namespace coracle::coding
