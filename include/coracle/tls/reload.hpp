#pragma once

#include <coracle/base/log.hpp>
#include <coracle/runtime/task.hpp>
#include <coracle/tls/context.hpp>

#include <chrono>

namespace coracle::tls {

/// Reads the certificates again, and logs the result.
void reload(server_context& c, const logger& log);
void reload(client_context& c, const logger& log);

/// Looks every `period` (at least 10 ms) whether a file of a certificate has been changed, and
/// reads them all again then, so that programs that renew them need not notify us. On failure the
/// old ones stay, and the log says why. Ends when it is cancelled; `c` must live until then. On the
/// current loop.
task<> reload_on_change(server_context& c, duration period = std::chrono::seconds(10));
task<> reload_on_change(client_context& c, duration period = std::chrono::seconds(10));

}  // namespace coracle::tls
