#pragma once

#include "http/client/core.hpp"

#include <coracle/http/call.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/method.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::http::detail {

class client_shard;
class connection_request;

/// The parts of a request that few requests use.
struct call_extras {
    std::string other_method;             ///< the text of a method without an enumerator
    std::string query;                    ///< pairs to append, encoded
    std::string tunnel;                   ///< target of a CONNECT
    std::string type;                     ///< media type of the body
    bool may_be_tunnel = false;           ///< `call::upgrade`
    bool has_made_parts = false;          ///< the body is made of `parts`
    std::shared_ptr<form_body> parts;     ///< the body is made of these when it is sent
    std::unique_ptr<client_options> own;  ///< replace the client's options
    unique_function<bool(const progress&)> report;
    unique_function<task<>(response&)> on_response;  ///< `call::duplex`
    unique_function<task<>(const response&)> on_interim;
    unique_function<task<>(const response&)> on_earlier;
    std::vector<response> interim;   ///< responses that `on_interim` is to be told
    std::unique_ptr<error> problem;  ///< the first failure of a setter

    call_extras() = default;
    /// Copies all but the functions.
    call_extras(const call_extras& other);
    call_extras& operator=(const call_extras&) = delete;
};

/// A request that is to be made. Small, because very many may wait.
struct call_state : coracle::detail::pooled {
    call_state(std::shared_ptr<client_core> c, std::string_view url)
        : core(std::move(c)), address(url) {}
    /// Copies the request, as one that has not begun.
    call_state(const call_state& other);
    call_state& operator=(const call_state&) = delete;
    ~call_state() {
        // A URL with a user may have a password.
        if (address.find('@') != std::string::npos) wipe(address.data(), address.size());
    }

    call_extras& set_more() {
        if (extras == nullptr) extras = std::make_unique<call_extras>();
        return *extras;
    }
    const call_extras& more() const noexcept { return extras != nullptr ? *extras : none; }
    void refuse(error e) {
        if (!more().problem) set_more().problem = std::make_unique<error>(std::move(e));
    }
    /// Returns the call's own options; null: those of the client.
    const client_options* own() const noexcept { return more().own.get(); }
    const error* problem() const noexcept { return more().problem.get(); }
    bool reports_progress() const noexcept { return static_cast<bool>(more().report); }
    std::string_view method_text() const noexcept {
        return method == http::method::other ? std::string_view(more().other_method)
                                             : to_string(method);
    }

    std::shared_ptr<client_core> core;
    std::string address;  ///< the URL as given
    http::fields fields;
    http::body body;
    duration total_timeout{};
    std::unique_ptr<call_extras> extras;
    /// The granted place, if the call waited for a connection before it began.
    connection_request* turn = nullptr;
    http::method method = http::method::get;
    bool has_body = false;
    bool is_form = false;
    bool repeatable = false;  ///< the body is a stream that can be made again
    /// The call ends on another thread than the one that made it, so its memory must not come from
    /// a pool of that thread.
    bool goes_elsewhere = false;

private:
    static const call_extras none;
};

/// Returns the URL of the call, with its query.
std::expected<url, error> target_url(const call_state& c, client_shard& here);
/// Returns the delay before a second copy of the request is sent; zero: no copy.
duration hedge_delay(const call_state& c, client_shard& here);
/// Makes the call, until the head of the final response. `c` must live until then.
task<std::expected<response, error>> make_call(call_state* c);
/// Returns the handler that the interceptors of a client wrap: it makes the call.
handler innermost_handler();
/// Makes the call and runs its function with the response, which may be before the request was
/// sent.
task<std::expected<void, error>> make_duplex_call(owned_call owned);
/// Makes the call and reads the body. `owned` keeps the call for so long; null: `c` must live until
/// then.
task<std::expected<full_response, error>> make_full_call(call_state* c, owned_call owned);

}  // namespace coracle::http::detail
