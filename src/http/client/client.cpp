#include "connect/names.hpp"
#include "http/client/call_state.hpp"
#include "http/client/core.hpp"
#include "http/message/token.hpp"

#include <coracle/http/client.hpp>

namespace coracle::http {

client::client(client_options o, pool_options p, background_options b)
    : core_(std::make_shared<detail::client_core>(std::move(o), p, b)) {}

client::~client() {
    // Calls on the client's own loop use the client's shard there until they have ended.
    core_->own_loop().end();
    core_->close();
}

call client::request(std::string_view method, std::string_view url) {
    detail::owned_call state(new detail::call_state(core_, url));
    state->method = parse_method(method);
    if (state->method == method::other) {
        state->set_more().other_method = method;
        if (!is_token(method)) {
            state->refuse(error(std::errc::invalid_argument, "method").on(method));
        }
    } else if (state->method == method::connect) {
        // The error has two subjects.
        state->refuse(error(std::errc::invalid_argument, "method").on("CONNECT: client::connect"));
    }
    return call(std::move(state));
}

call client::connect(std::string_view url, std::string_view target) {
    detail::owned_call state(new detail::call_state(core_, url));
    state->method = method::connect;
    state->set_more().tunnel = target;
    const auto parts = coracle::connect::split_host_port(target, 0);
    if (!parts || parts->host.empty() || parts->port == 0 || !is_field_value(target) ||
        target.find_first_of("/?#@ ") != std::string_view::npos) {
        state->refuse(error(std::errc::invalid_argument, "connect").on(target));
    }
    return call(std::move(state));
}

client_options client::defaults() const {
    return core_->defaults();
}
void client::set_defaults(client_options o) {
    core_->set_defaults(std::move(o));
}
void client::set_defaults(std::string_view text) {
    auto changed = core_->change_defaults(text);
    if (!changed) throw_exception(std::move(changed).error());
}
client_statistics client::statistics() const {
    return core_->statistics();
}
cookie_jar& client::cookies() noexcept {
    return core_->jar();
}
client& client::share_cookies(std::shared_ptr<cookie_jar> jar) {
    core_->share_jar(std::move(jar));
    return *this;
}
bool client::stop(duration limit) {
    return core_->own_loop().stop(limit);
}
void client::intercept(unique_function<handler(handler)> around) {
    core_->intercept(std::move(around));
}
void client::add_observer(call_observer o) {
    core_->observe(o);
}

}  // namespace coracle::http
