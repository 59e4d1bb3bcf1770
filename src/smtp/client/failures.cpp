#include "smtp/client/failures.hpp"

#include <coracle/runtime/operation.hpp>

#include <utility>

namespace coracle::smtp::detail {

error reply_error(std::string_view command, reply r, std::vector<recipient_result> about) {
    const errc why = r.transient()   ? errc::rejected_for_now
                     : r.permanent() ? errc::rejected
                                     : errc::unexpected_reply;
    const bool safe = r.transient();
    return reply_error(why, command, std::move(r), safe, std::move(about));
}

error reply_error(errc why, std::string_view command, reply r, bool safe,
                  std::vector<recipient_result> about) {
    std::string subject(command);
    if (r.code != 0) subject.append(": ").append(r.to_string());
    error e(make_error_code(why), "smtp", phase::receive);
    e.on(subject).retry_is_safe(safe);
    e.with(std::make_shared<failure>(std::string(command), std::move(r), std::move(about)));
    return e;
}

error connection_error(const error& cause, std::string_view command, phase where, bool safe,
                       std::vector<recipient_result> about) {
    if (coracle::detail::is_cancellation(cause)) return cause;
    std::string subject(command);
    if (!cause.subject().empty()) subject.append(": ").append(cause.subject());
    error e(cause.code(), "smtp", cause.phase() != phase::none ? cause.phase() : where);
    e.on(subject).retry_is_safe(safe).after_bytes(cause.bytes());
    e.with(std::make_shared<failure>(std::string(command), reply(), std::move(about)));
    return e;
}

error uncertain_cancellation(error cancellation, std::vector<recipient_result> about) {
    cancellation.with(
        std::make_shared<failure>(std::string(end_of_data), reply(), std::move(about)));
    return cancellation;
}

}  // namespace coracle::smtp::detail
