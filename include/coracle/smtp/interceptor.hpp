#pragma once

#include <coracle/runtime/task.hpp>
#include <coracle/smtp/sending.hpp>

#include <functional>
#include <type_traits>

namespace coracle::smtp {

/// The rest of the way of a mail: sends it, with retries, and gives the receipt or throws
/// `exception`. The message must live until the task has ended.
using mail_handler = std::function<task<receipt>(message&)>;

/// An interceptor: `task<receipt> f(message&, const mail_handler& next)`, which may change the
/// mail, calls `co_await next(mail)`, and may look at what comes of it; or gives a receipt of its
/// own.
template <class F>
concept intercepts_mails =
    std::is_invocable_r_v<task<receipt>, const F&, message&, const mail_handler&>;

}  // namespace coracle::smtp
