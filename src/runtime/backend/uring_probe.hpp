#pragma once

#include <coracle/base/error.hpp>

#include <liburing.h>

#include <cstdint>
#include <expected>

namespace coracle::detail {

/// What of io_uring a ring uses; each can be done without.
enum uring_feature : unsigned {
    deferred_work = 1,      ///< DEFER_TASKRUN with SINGLE_ISSUER: since 6.1
    cooperative_work = 2,   ///< COOP_TASKRUN, where the former is not to be had
    multishot_receive = 4,  ///< since 6.0, with a ring of provided buffers
    registered_ring = 8,    ///< the ring's own descriptor needs no look-up
};
constexpr unsigned all_uring_features =
    deferred_work | cooperative_work | multishot_receive | registered_ring;

/// Opens a ring with the most of `allowed` that this kernel takes, and says what that was. With
/// `deferred_work` it is still disabled, and belongs to the thread that enables it. The error says
/// in its subject why there is none.
std::expected<unsigned, error> open_ring(io_uring& ring, unsigned allowed) noexcept;

}  // namespace coracle::detail
