#include "connect/tunnel_stream.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::connect {

void tunnel_stream::give(receive_operation& op) noexcept {
    if (!op.into) op.into = buffer(op.capacity);
    const std::size_t n = std::min(op.into.spare_size(), received_.size());
    std::memcpy(op.into.spare(), received_.data(), n);
    op.into.commit(n);
    received_.consume(n);
    if (received_.empty()) received_.release();
    op.result = static_cast<std::int64_t>(n);
}

}  // namespace coracle::connect
