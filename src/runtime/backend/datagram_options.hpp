#pragma once

#include <coracle/runtime/datagram_operation.hpp>

namespace coracle::detail {

/// Sets what a datagram socket needs before bind. `family` is that of its address.
std::expected<void, error> set_datagram_options(int fd, int family,
                                                const datagram_options& o) noexcept;

}  // namespace coracle::detail
