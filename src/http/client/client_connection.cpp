#include "http/client/client_connection.hpp"

#include "http/client/pool.hpp"

namespace coracle::http::detail {

client_connection::client_connection(origin& home, std::unique_ptr<net::byte_stream> stream,
                                     const tls::session_info* secured)
    : deadline(home.pool().owner()), stream_(std::move(stream)), home_(&home), secured_(secured),
      certificate_(secured != nullptr ? secured->peer_certificate() : tls::certificate()),
      born_(home.pool().owner().now()) {}

client_connection::~client_connection() = default;

void client_connection::expired() noexcept {
    home_->pool().discard_idle(*this);
}

}  // namespace coracle::http::detail
