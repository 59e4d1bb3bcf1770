#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

/// The reasons are in docs/benchmarks.md and docs/internals.md.
constexpr backend_kind backends_by_preference[] = {backend_kind::epoll, backend_kind::uring,
                                                   backend_kind::poll};

/// Returns the kind that CORACLE_BACKEND names; an error when there is no such backend.
std::expected<backend_kind, error> backend_from_environment();

/// Opens exactly this kind.
std::expected<std::unique_ptr<backend>, error> open_backend(backend_kind kind);

}  // namespace coracle::detail
