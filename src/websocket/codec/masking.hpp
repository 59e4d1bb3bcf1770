#pragma once

#include "websocket/codec/frame.hpp"

#include <cstddef>

namespace coracle::websocket::detail {

/// Masks or unmasks (RFC 6455 section 5.3) `size` bytes from `from` to `to`, which may be the same
/// place and do not overlap otherwise. `offset`: the place of the first byte in its payload.
/// Uses AVX2 where the processor has it.
void mask_copy(char* to, const char* from, std::size_t size, masking_key key,
               std::uint64_t offset) noexcept;

inline void mask_in_place(char* bytes, std::size_t size, masking_key key,
                          std::uint64_t offset) noexcept {
    mask_copy(bytes, bytes, size, key, offset);
}

/// The kernels, apart for tests. `key` is turned so that its first byte is that of the first byte.
using mask_kernel = void (*)(char* to, const char* from, std::size_t size,
                             masking_key key) noexcept;
void mask_scalar(char* to, const char* from, std::size_t size, masking_key key) noexcept;
/// Returns null if the processor has no AVX2.
mask_kernel wide_mask_kernel() noexcept;

}  // namespace coracle::websocket::detail
