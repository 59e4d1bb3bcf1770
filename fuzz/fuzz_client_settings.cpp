// Options of a client from text and JSON. Checked: a text that fails changes nothing, no error has
// bytes that a terminal obeys, and what is set can be read again.
#include "require.hpp"

#include <coracle/http/client_settings.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::http;

namespace {

using reader = std::expected<void, error> (*)(client_options&, pool_options&, std::string_view);

void read(reader read_from, std::string_view text) {
    client_options options;
    pool_options pool;
    // Values that no text sets.
    options.redirects = 4'000'000'000;
    options.user_agent = "as it was";
    pool.waiting = 4'000'000'001;
    if (const auto set = read_from(options, pool, text); !set) {
        require(options.redirects == 4'000'000'000 && options.user_agent == "as it was");
        require(pool.waiting == 4'000'000'001);
        require(set.error() == std::errc::invalid_argument || set.error() == errc::unknown_option);
        for (const char c : set.error().message()) require(c >= ' ' && c < 0x7f);
        return;
    }
    client_options again = options;
    require(read_from(again, pool, text).has_value());
    require(again.redirects == options.redirects && again.user_agent == options.user_agent);
    require(again.total_timeout == options.total_timeout && again.total_timeout.count() >= 0);
    require(again.resolve == options.resolve && again.proxy == options.proxy);
    for (const char c : options.user_agent) {
        require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    read(read_options, bytes);
    read(read_json_options, bytes);
    return 0;
}
