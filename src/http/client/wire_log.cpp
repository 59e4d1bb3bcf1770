// The log lines of a call with `client_options::verbose`.

#include "base/ascii.hpp"
#include "base/decimal.hpp"
#include "http/client/running_call.hpp"
#include "http/masking.hpp"
#include "http/message/token.hpp"
#include "http/milliseconds.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace coracle::http::detail {
namespace {

/// Masks the secrets in the target of a request line; other lines have none.
std::string masked_start(std::string_view line) {
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == last || line.starts_with("HTTP/")) return std::string(line);
    std::string all(line.substr(0, first + 1));
    all += masked_url(line.substr(first + 1, last - first - 1));
    return all.append(line.substr(last));
}

/// Masks the secrets of a line, those among `own` as they are marked.
std::string masked(std::string_view line, const fields& own) {
    const std::size_t colon = line.find(':');
    const bool is_field = colon != std::string_view::npos && line.find(' ') > colon;
    if (!is_field) return masked_start(line);
    const std::string_view name = line.substr(0, colon);
    const field* const mine = own.find(name);
    const bool is_marked = mine != nullptr && mine->never_indexed;
    const field shown{name, trim_ows(line.substr(colon + 1)), find_field_id(name), is_marked};
    return std::string(name) + ": " + masked_field(shown);
}

}  // namespace

void running_call::log_connection() const {
    std::string text;
    client_connection& connection = exchange_->connection();
    const std::string peer = connection.stream().peer().to_string();
    if (exchange_->reused()) {
        text.append("* uses the connection to ").append(peer).append(" again");
    } else {
        const duration done = std::max(times_.connected, times_.secured);
        text.append("* connected to ").append(peer).append(" in ");
        append_milliseconds(text, std::max(done - times_.queued, duration::zero()));
        text += " ms";
    }
    if (const tls::session_info* const secured = connection.secured()) {
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
        text += direction == '>' ? masked(line, call_.fields) : masked(line, {});
        log.write(log_layer::http, log_level::info, text);
    }
}

void running_call::log_retry(const call_result& a, duration delay) const {
    std::string text = "* ";
    text += a ? std::to_string(static_cast<unsigned>(a->status())) : a.error().code().message();
    const std::chrono::duration<double> wait = delay;
    text += ", again in ";
    coracle::detail::append_decimal(text, wait.count(), 1);
    text += " s (" + std::to_string(retries_) + " of " + std::to_string(options_->retry.retries);
    shard_->owner().log().write(log_layer::http, log_level::info, text + ')');
}

}  // namespace coracle::http::detail
