#include "http/client/call_state.hpp"
#include "http/client/core.hpp"
#include "http/message/token.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/client_settings.hpp>

namespace coracle::http {

client::client(client_options o, pool_options p, background_options b)
    : core_(std::make_shared<detail::client_core>(std::move(o), p, b)) {}

client::~client() {
    // Calls on the client's own loop use what the client has there until they have ended.
    core_->end_own_loop();
    core_->close();
}

call client::request(std::string_view method, std::string_view url) {
    detail::owned_call state(new detail::call_state(core_, url));
    state->method = parse_method(method);
    if (state->method == method::other || state->method == method::connect) {
        state->method = method::other;
        state->set_more().other_method = method;
        if (!is_token(method) || method == "CONNECT") {
            state->refuse(error(std::errc::invalid_argument, "method").on(method));
        }
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
    client_options o = defaults();
    auto read = read_options(o, text);
    if (!read) throw_exception(std::move(read).error());
    set_defaults(std::move(o));
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
    return core_->stop(limit);
}
void client::intercept(unique_function<handler(handler)> around) {
    core_->intercept(std::move(around));
}

}  // namespace coracle::http
