#pragma once

#include <coracle/base/error.hpp>

#include <liburing.h>

#include <cstdint>
#include <expected>

namespace coracle::detail {

/// Features of io_uring that a ring uses if available.
enum uring_feature : unsigned {
    deferred_work = 1,      ///< DEFER_TASKRUN with SINGLE_ISSUER: since 6.1
    cooperative_work = 2,   ///< COOP_TASKRUN, if the former is not available
    multishot_receive = 4,  ///< since 6.0, with a ring of provided buffers
    registered_ring = 8,    ///< the ring's own descriptor needs no look-up
};
constexpr unsigned all_uring_features =
    deferred_work | cooperative_work | multishot_receive | registered_ring;

/// Opens a ring with all features of `allowed` that this kernel supports, and returns these. With
/// `deferred_work` the ring is still disabled, and belongs to the thread that enables it. The
/// subject of an error has the reason.
std::expected<unsigned, error> open_ring(io_uring& ring, unsigned allowed) noexcept;

}  // namespace coracle::detail
