// A message that comes from Redis, and a pattern of topics. Checked: a message that is read is
// written as it was, and a topic that is escaped matches itself alone.
#include "redis/bus_message.hpp"
#include "require.hpp"
#include "websocket/topic_pattern.hpp"

#include <fnmatch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle::redis::detail;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 1024) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto m = bus_message::parse(bytes)) require(m->encode() == bytes);
    // The globs of Redis are those of fnmatch without a locale, but for NUL.
    const std::string topic(bytes.substr(0, bytes.find('\0')));
    require(fnmatch(escape_glob(topic).c_str(), topic.c_str(), 0) == 0);
    require(fnmatch(escape_glob(topic).c_str(), (topic + 'x').c_str(), 0) == FNM_NOMATCH);
    if (!coracle::websocket::detail::is_wild(topic))
        require(fnmatch(glob_of(topic).c_str(), topic.c_str(), 0) == 0);
    return 0;
}
