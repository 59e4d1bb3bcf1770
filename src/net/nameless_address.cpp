#include "net/nameless_address.hpp"

#include <sys/socket.h>

#include <cstring>

namespace coracle::net::detail {

address nameless_unix_address() {
    const sa_family_t family = AF_UNIX;
    endpoint e;
    std::memcpy(e.bytes, &family, sizeof family);
    e.size = sizeof family;
    return address::from(e);
}

}  // namespace coracle::net::detail
