#include "connect/race.hpp"

#include <algorithm>
#include <string>

namespace coracle::connect {

options& options::attempt_delay(duration d) noexcept {
    // RFC 8305 section 5 gives the bounds.
    using std::chrono::milliseconds;
    attempt_delay_ = std::clamp<duration>(d, milliseconds(10), milliseconds(2000));
    return *this;
}

namespace {

task<race::result> connect_by_name(net::resolver* names, std::string host, std::uint16_t port,
                                   options o) {
    race r(*names, host, port, o);
    auto result = co_await r.run();
    co_return result;
}

}  // namespace

operation<std::unique_ptr<net::byte_stream>> to(net::resolver& names, std::string_view host,
                                                std::uint16_t port, const options& o) {
    options copy = o;
    return connect_by_name(&names, std::string(host), port, copy);
}

}  // namespace coracle::connect
