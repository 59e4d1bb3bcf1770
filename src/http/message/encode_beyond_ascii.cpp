#include "http/message/encode_beyond_ascii.hpp"

#include <coracle/base/percent.hpp>

namespace coracle::http::detail {

std::string encode_beyond_ascii(std::string_view target) {
    std::string out;
    for (const char& c : target) {
        if (static_cast<unsigned char>(c) < 0x80) {
            out += c;
        } else {
            out += percent_encode({&c, 1});
        }
    }
    return out;
}

}  // namespace coracle::http::detail
