#pragma once

#include <coracle/smtp/error.hpp>

#include <vector>

namespace coracle::smtp::detail {

/// The content of the mail, a file or a stream, could not be read: that is no fault of the server,
/// and not safe to try again. A cancellation stays one.
error content_error(error cause, std::vector<recipient_result> about = {});
bool is_about_content(const error& e) noexcept;

}  // namespace coracle::smtp::detail
