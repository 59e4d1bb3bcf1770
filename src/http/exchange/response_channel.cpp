#include "http/exchange/response_channel.hpp"

namespace coracle::http::detail {

using counters = server_counters;

task<std::expected<void, error>> response_channel::send_interim(const response& interim) {
    const int code = static_cast<int>(interim.status());
    if (!takes_interim_) {
        co_return std::unexpected(error(std::errc::operation_not_supported, "inform"));
    }
    if (code < 100 || code > 199 || interim.status() == status::switching_protocols) {
        co_return std::unexpected(error(std::errc::invalid_argument, "inform"));
    }
    if (writes()) co_return one_at_a_time("inform");
    const bool ok = co_await send_interim_head(interim);
    if (ok) co_return std::expected<void, error>();
    co_return std::unexpected(error(std::errc::broken_pipe, "inform", coracle::phase::send));
}

void response_channel::report_failure(std::string_view reason, bool out_of_memory) {
    if (out_of_memory) host_->count(&counters::out_of_memory);
    if (client_gone_) {
        // The handler is not at fault for a body that it cannot read because the client has left.
        failed_when_gone_ = true;
        return;
    }
    // Nor for what stops with its loop.
    if (host_->owner().root().cancelled()) return;
    host_->count(&counters::handler_errors);
    host_->log(log_level::error, client_address(), reason);
}

void response_channel::report_file(const exchange& e, const error& why) const {
    const bool is_shorter = why == std::errc::no_message_available;
    if (!is_shorter && why != std::errc::io_error) return;
    std::string text = "the file of " + std::string(e.req.path());
    text += is_shorter ? " is shorter than its response has announced"
                       : " cannot be read: " + why.code().message();
    host_->log(log_level::warning, client_address(), text);
}

}  // namespace coracle::http::detail
