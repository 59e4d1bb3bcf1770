#pragma once

#include <coracle/smtp/error.hpp>

#include <cstddef>
#include <vector>

namespace coracle::smtp::detail {

/// Returns true if the server has said of the last of the first `asked`, three in a row, that the
/// mail has too many: whoever comes behind them need not be asked about, and gets the same reply.
/// One alone may be one that it takes no mail to together with the others.
bool refuse_rest(std::vector<recipient_result>& all, std::size_t asked);

/// Those that a server refused because the mail had too many by then, as they were before they were
/// asked about: a further mail may go to them (RFC 5321 section 4.5.3.1.10). It has to have taken
/// some.
std::vector<recipient_result> recipients_left(const std::vector<recipient_result>& all);

/// Puts the outcomes of those that were left, in their order, in place of their refusals.
void put_outcomes(std::vector<recipient_result>& all, std::vector<recipient_result> of_left);

}  // namespace coracle::smtp::detail
