#include "tls/digest.hpp"

#include <coracle/base/error.hpp>
#include <coracle/tls/sha256.hpp>

namespace coracle::tls {

struct sha256::state {
    detail::digester digest{detail::hash::sha256};
};

sha256::sha256() : state_(std::make_unique<state>()) {
    if (!state_->digest.good()) throw_exception(error(std::errc::not_supported, "sha256"));
}
sha256::sha256(sha256&&) noexcept = default;
sha256& sha256::operator=(sha256&&) noexcept = default;
sha256::~sha256() = default;

void sha256::add(std::string_view bytes) noexcept {
    state_->digest.add(bytes);
}

std::string sha256::finish() {
    return state_->digest.finish().value_or(std::string());
}

}  // namespace coracle::tls
