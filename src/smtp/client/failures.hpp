#pragma once

#include <coracle/smtp/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace coracle::smtp::detail {

constexpr std::string_view end_of_data = "end of data";

/// The failure that a reply is to a command. It is safe to try again where the reply says "for
/// now".
error reply_error(std::string_view command, reply r, std::vector<recipient_result> about = {});

/// Makes the same failure with another code: `safe` to try again, or not.
error reply_error(errc why, std::string_view command, reply r, bool safe,
                  std::vector<recipient_result> about = {});

/// The connection failed while this command was under way. A cancellation stays one.
error connection_error(const error& cause, std::string_view command, phase where, bool safe,
                       std::vector<recipient_result> about = {});

/// The cancellation of a mail whose end was sent: its failure says so.
error uncertain_cancellation(error cancellation, std::vector<recipient_result> about);

}  // namespace coracle::smtp::detail
