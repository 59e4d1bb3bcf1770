// JSON Web Tokens: the input is a header and claims with an LF between them, which are signed as
// they are, or a whole token or key set. Checked: a token verifies by its key only, it says what
// was signed, a changed one does not verify, and no text gives an object with a name twice.
#include "http/middleware/flat_json.hpp"
#include "require.hpp"

#include <coracle/http/middleware/jwt.hpp>
#include <coracle/mime/base64.hpp>
#include <coracle/tls/hash.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using http::detail::flat_json;

namespace {

constexpr std::string_view key = "0123456789abcdef0123456789abcdef";
constexpr std::int64_t now = 1'900'000'000;

std::string url64(std::string_view bytes) {
    return mime::base64_encode(bytes, mime::base64_alphabet::url);
}

const http::jwt_keys& keys() {
    static const http::jwt_keys all = [] {
        http::jwt_keys k;
        k.add_secret(secret(std::string(key)), "one");
        return k;
    }();
    return all;
}

void check_token(const std::string& header, const std::string& claims) {
    const http::jwt_options options;
    std::string token = url64(header) + '.' + url64(claims);
    const std::string mac = tls::hmac(tls::hash::sha256, key, token);
    token += '.' + url64(mac);
    const auto verified = keys().verify(token, options, now);
    static_cast<void>(http::jwt_keys::id_in(token, options));
    if (!verified) return;
    require(verified->json == claims && verified->expires);
    require(*verified->expires > now - options.leeway.count());
    require(flat_json::read(header)->text("alg") == "HS256");
    std::string changed = mac;
    changed[0] = static_cast<char>(changed[0] ^ 1);
    const std::string other = token.substr(0, token.rfind('.') + 1) + url64(changed);
    require(!keys().verify(other, options, now));
    require(!keys().verify(token + 'A', options, now));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 2048) return 0;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::size_t line_end = text.find('\n');
    if (line_end != std::string::npos) {
        check_token(text.substr(0, line_end), text.substr(line_end + 1));
    }
    require(!keys().verify(text, {}, now));
    http::jwt_keys other;
    static_cast<void>(other.add_set(text));
    static_cast<void>(flat_json::read(text, 20));
    return 0;
}
