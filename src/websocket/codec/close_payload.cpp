#include "websocket/codec/close_payload.hpp"

#include "base/utf8.hpp"
#include "websocket/codec/utf8.hpp"

#include <cstring>

namespace coracle::websocket::detail {

fault read_close(std::string_view payload, close_payload& out) noexcept {
    out = {};
    if (payload.empty()) return fault::none;
    if (payload.size() == 1) return fault::bad_close;
    const unsigned high = static_cast<unsigned char>(payload[0]);
    const unsigned low = static_cast<unsigned char>(payload[1]);
    out.code = static_cast<close_code>(high << 8 | low);
    out.reason = payload.substr(2);
    if (!may_be_sent(out.code)) return fault::bad_close;
    return is_utf8(out.reason) ? fault::none : fault::invalid_utf8;
}

char* write_close(char* out, close_code code, std::string_view reason) noexcept {
    if (code == close_code::no_status) return out;
    const auto number = static_cast<unsigned>(code);
    *out++ = static_cast<char>(number >> 8);
    *out++ = static_cast<char>(number & 0xff);
    const std::string_view said = coracle::detail::utf8_prefix(reason, max_reason);
    if (!said.empty()) std::memcpy(out, said.data(), said.size());
    return out + said.size();
}

}  // namespace coracle::websocket::detail
