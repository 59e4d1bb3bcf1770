#include "http/client/auth/proxy_login.hpp"

#include <coracle/runtime/loop.hpp>

namespace coracle::http::detail {

std::expected<secret, error> proxy_login::authorize(std::string_view method,
                                                    std::string_view target) {
    loop& here = *loop::current();
    const std::array<std::uint64_t, 2> random{here.random(), here.random()};
    const std::lock_guard lock(guard_);
    return authenticator_.authorize({method, target}, random);
}

bool proxy_login::challenged(const std::vector<std::string>& challenges, unsigned repeats) {
    fields received;
    for (const std::string& c : challenges) received.add(challenge_field(auth_side::proxy), c);
    const std::lock_guard lock(guard_);
    return authenticator_.challenged(received, repeats);
}

}  // namespace coracle::http::detail
