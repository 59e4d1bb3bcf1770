#pragma once

#include "smtp/client/connection.hpp"
#include "smtp/client/route.hpp"

#include <coracle/net/resolver.hpp>
#include <coracle/runtime/task.hpp>

#include <expected>
#include <memory>

namespace coracle::smtp::detail {

/// Connects by this route, up to where MAIL may be sent: names, TCP, proxy, TLS, greeting, EHLO,
/// STARTTLS, AUTH. All of it is safe to try again, unless the server has refused for good. The
/// timeouts are those of the mail, `for_mail`: mails with others may share the route.
task<std::expected<std::unique_ptr<connection>, error>> open_session(const route* by,
                                                                     const client_options* for_mail,
                                                                     net::resolver* names);

}  // namespace coracle::smtp::detail
