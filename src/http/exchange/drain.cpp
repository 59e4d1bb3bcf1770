#include "http/exchange/response_channel.hpp"

#include <coracle/http/drain_signal.hpp>

namespace coracle::http {

drain_signal* drain_of(const request& req) noexcept {
    // The other kind is that of a client's interceptors.
    auto* const channel = dynamic_cast<detail::response_channel*>(req.exchange());
    return channel == nullptr ? nullptr : &channel->host().drain_of_upgraded();
}

bool is_draining(const request& req) noexcept {
    const drain_signal* const of = drain_of(req);
    return of != nullptr && of->begun();
}

}  // namespace coracle::http
