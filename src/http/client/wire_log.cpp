// What a call that is to be watched writes to the log.

#include "base/ascii.hpp"
#include "http/client/running_call.hpp"

#include <coracle/http/field_id.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace coracle::http::detail {
namespace {

bool is_secret(std::string_view line) noexcept {
    switch (find_field_id(line.substr(0, line.find(':')))) {
        case field_id::authorization:
        case field_id::proxy_authorization:
        case field_id::cookie:
        case field_id::set_cookie: return true;
        default: return false;
    }
}

}  // namespace

void running_call::log_connection() const {
    std::string text;
    const std::string peer = connection_->stream().peer().to_string();
    if (connection_->reused()) {
        text.append("* uses the connection to ").append(peer).append(" again");
    } else {
        const duration done = std::max(times_.connected, times_.secured);
        const std::chrono::duration<double, std::milli> took =
            std::max(done - times_.queued, duration::zero());
        char time[32];
        std::snprintf(time, sizeof time, " in %.1f ms", took.count());
        text.append("* connected to ").append(peer).append(time);
    }
    if (const tls::stream* const secured = connection_->secured()) {
        text.append(", ").append(tls_version()).append(", ").append(secured->cipher());
        if (secured->resumed()) text += ", resumed";
    }
    shard_->owner().log().write(log_layer::http, log_level::info, text);
}

void running_call::log_head(char direction, std::string_view head) const {
    const logger& log = shard_->owner().log();
    std::string text;
    while (!head.empty()) {
        std::string_view line = coracle::detail::take_item(head, '\n');
        if (line.ends_with('\r')) line.remove_suffix(1);
        text.assign(1, direction).append(" ");
        if (is_secret(line)) {
            text.append(line.substr(0, line.find(':'))).append(": ***");
        } else {
            text.append(line);
        }
        log.write(log_layer::http, log_level::info, text);
    }
}

}  // namespace coracle::http::detail
