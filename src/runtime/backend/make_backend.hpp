#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

/// docs/benchmarks.md and docs/internals.md say why.
constexpr backend_kind backends_by_preference[] = {backend_kind::epoll, backend_kind::uring,
                                                   backend_kind::poll};

/// What CORACLE_BACKEND asks for; an error when there is no such backend.
std::expected<backend_kind, error> backend_from_environment();

/// Opens exactly this kind.
std::expected<std::unique_ptr<backend>, error> open_backend(backend_kind kind);

}  // namespace coracle::detail
