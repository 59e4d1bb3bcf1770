#pragma once

#include <coracle/smtp/error.hpp>

#include <vector>

namespace coracle::smtp::detail {

/// The state of a mail, for whoever ends it before it has an outcome.
struct mail_progress {
    /// The server may have all of it, for some recipient at least.
    bool maybe_sent = false;
    /// The outcomes so far of a mail that takes several transactions; else empty.
    std::vector<recipient_result> recipients = {};
};

}  // namespace coracle::smtp::detail
