#pragma once

#include <coracle/base/error.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace coracle::fs {

/// Makes `bytes` the content of `path`. A regular file is replaced atomically by a new one, with
/// the permissions `mode` less the umask; symbolic links are followed and stay, also one whose
/// target does not exist yet. A device, a FIFO or a socket is written to, never replaced. `random`
/// and the number of the process make the temporary names. Blocks. Fails as open(2), write(2) and
/// rename(2) do; with `no_such_device_or_address` for a FIFO without a reader.
std::expected<void, error> save_whole(const std::string& path, std::string_view bytes,
                                      std::uint64_t random, unsigned mode = 0666);

}  // namespace coracle::fs
