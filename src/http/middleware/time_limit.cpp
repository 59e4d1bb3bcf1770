#include <coracle/http/middleware/time_limit.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/with_timeout.hpp>

namespace coracle::http {

task<response> time_limit::operator()(request& req, const handler& next) const {
    const time_point due = coracle::detail::later(loop::current()->now(), limit_);
    auto handling = next(req);
    auto limited = with_deadline(due, std::move(handling));
    auto made = co_await as_result(limited);
    if (made) co_return *std::move(made);
    // A deadline from around this one is not its own.
    if (made.error() == std::errc::timed_out && loop::current()->now() >= due) {
        co_return response(status::gateway_timeout, "The response took too long.\n");
    }
    throw_exception(std::move(made).error());
}

}  // namespace coracle::http
