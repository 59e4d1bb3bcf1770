#pragma once

#include <coracle/fs/file.hpp>
#include <coracle/runtime/file_operation.hpp>
#include <coracle/runtime/task.hpp>

#include <expected>
#include <string>

namespace coracle::fs::detail {

constexpr unsigned access_bits = 0777;
constexpr unsigned all_permissions = 07777;

/// Gives a file that is about to replace another one its group, where that is allowed, and its
/// permissions. Where the group stays another, or the old file has an access list, which the new
/// one has not, the group gets no more than others have. `bits`: all that may be taken over; set-id
/// bits only where owner and group are the same. `path` is that of the old file. The parameters
/// must live until then.
task<std::expected<void, error>> keep_permissions(const file& made, const std::string& path,
                                                  const file_status& old,
                                                  unsigned bits = all_permissions);

}  // namespace coracle::fs::detail
