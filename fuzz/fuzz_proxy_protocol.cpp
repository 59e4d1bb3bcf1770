// A PROXY header, both versions. Checked: a header that is cut needs more at every cut before it is
// complete and is the same with anything after it, and nothing beyond the limits is accepted.
#include "net/proxy_protocol.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

using namespace coracle::net;

namespace {

constexpr proxy_limits limits{.header = 512};

proxy_result parse(std::string_view bytes, proxy_header& out) {
    // Exactly as long as the input, so that a read beyond it is found.
    const std::unique_ptr<char[]> exact(new char[bytes.size() + 1]);
    if (!bytes.empty()) std::memcpy(exact.get() + 1, bytes.data(), bytes.size());
    return parse_proxy_header({exact.get() + 1, bytes.size()}, out, limits);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    proxy_header whole;
    const proxy_result result = parse(bytes, whole);
    require(!describe(result.error).empty());
    if (result.status != proxy_status::header) {
        require(whole.version == 0 && result.consumed == 0);
        return 0;
    }
    require(result.consumed <= (whole.version == 1 ? proxy_limits::line : limits.header));
    require(whole.unique_id.size() <= 128 && whole.authority.size() <= 255);
    for (std::size_t cut = 0; cut < result.consumed; ++cut) {
        proxy_header part;
        require(parse(bytes.substr(0, cut), part).status == proxy_status::need_more);
    }
    proxy_header exact;
    require(parse(bytes.substr(0, result.consumed), exact).status == proxy_status::header);
    require(exact.source == whole.source && exact.destination == whole.destination);
    require(exact.authority == whole.authority && exact.is_local == whole.is_local);
    return 0;
}
