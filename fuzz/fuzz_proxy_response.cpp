// The replies of a proxy; the first byte chooses its kind and how the rest is cut. Checked: the
// same end however the bytes are cut, bounded memory, no byte taken after the end, and an error
// always has a text.
#include "connect/dialogue.hpp"
#include "exact_bytes.hpp"
#include "require.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle::connect;

namespace {

struct outcome {
    dialogue::status state = dialogue::status::talks;
    std::error_code code;
    std::string detail;
    std::size_t taken = 0;
};

outcome talk(const proxy& p, std::string_view bytes, std::size_t size) {
    const auto made = make_dialogue(p, "target.example", 443);
    require(made.has_value());
    dialogue& d = **made;
    std::size_t taken = 0;
    while (d.state() == dialogue::status::talks) {
        d.sent();
        if (taken == bytes.size()) break;
        const std::size_t n = std::min(size, bytes.size() - taken);
        const exact_bytes exact(bytes.substr(taken, n));
        const std::size_t used = d.take(exact.view());
        require(used <= n);
        require(used != 0 || d.state() != dialogue::status::talks);
        taken += used;
        require(d.output().size() <= 1024);
    }
    return {d.state(), d.why().code, d.why().detail, taken};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    constexpr proxy_kind kinds[] = {proxy_kind::http, proxy_kind::socks4a, proxy_kind::socks5h};
    proxy p(kinds[data[0] % 3], "proxy", 1080);
    if ((data[0] & 4) != 0) p.credentials("user", "password");
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const outcome whole = talk(p, bytes, bytes.size() + 1);
    const outcome cut = talk(p, bytes, 1U + (data[0] >> 3));
    require(whole.state == cut.state && whole.code == cut.code && whole.detail == cut.detail);
    if (whole.state == dialogue::status::open) require(whole.taken == cut.taken);
    require((whole.state == dialogue::status::refused) == static_cast<bool>(whole.code));
    require(whole.detail.size() <= 512);
    return 0;
}
