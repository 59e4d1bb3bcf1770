// Responses of a name server. The first byte of the input says which records were asked for, how
// many are taken, and where a second reading is cut. Checked: the records are of the kind, as many
// as may be, and none beside a failure; a message that is cut gives no more of them.
#include "exact_bytes.hpp"
#include "net/resolver/message.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace coracle::net::detail;

namespace {

constexpr std::string_view asked = "boats.example";

std::size_t count_of(const records& r) {
    return r.addresses.size() + r.mail.size();
}

std::size_t read(std::string_view message, record_kind wanted, std::size_t most) {
    const exact_bytes exact(message);
    const dns_response r = read_response(exact.view(), asked, wanted, most);
    const std::size_t count = count_of(r.found);
    require(count <= most);
    require((count == 0) == static_cast<bool>(r.failure));
    require(wanted == record_kind::mail ? r.found.addresses.empty() : r.found.mail.empty());
    const auto family =
        wanted == record_kind::v4 ? coracle::net::family::v4 : coracle::net::family::v6;
    for (const auto& a : r.found.addresses) require(a.family() == family);
    for (const auto& m : r.found.mail) require(m.name.size() <= 253);
    return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2 || size > 4096) return 0;
    const auto wanted = static_cast<record_kind>(data[0] % 3);
    const std::size_t most = data[0] / 3U % 8U + 1U;
    const std::string_view message{reinterpret_cast<const char*>(data) + 1, size - 1};
    const std::size_t all = read(message, wanted, most);
    const std::size_t cut = read(message.substr(0, data[0] * message.size() / 256), wanted, most);
    require(cut <= all || all == 0);
    return 0;
}
