#pragma once

#include "http/client/core.hpp"

#include <coracle/http/call.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/method.hpp>

#include <memory>
#include <string>

namespace coracle::http::detail {

class client_shard;
class connection_request;

/// What few requests have.
struct call_extras {
    std::string other_method;             ///< the text of one that has no name here
    std::string query;                    ///< pairs to append, encoded
    std::string tunnel;                   ///< where a CONNECT leads to
    std::string type;                     ///< of the body
    std::shared_ptr<form_body> parts;     ///< of which the body is made when it is sent
    std::unique_ptr<client_options> own;  ///< in place of the client's options
    unique_function<bool(const progress&)> tell;
    std::unique_ptr<error> problem;  ///< the first thing that a setter could not do

    call_extras() = default;
    /// But for `tell`.
    call_extras(const call_extras& other);
    call_extras& operator=(const call_extras&) = delete;
};

/// A request as it is to be made. Small, for as many may wait as there is memory for.
struct call_state {
    call_state(std::shared_ptr<client_core> c, std::string_view url)
        : core(std::move(c)), address(url) {}
    /// The same request, not begun.
    call_state(const call_state& other);
    call_state& operator=(const call_state&) = delete;
    ~call_state() {
        // It may have a password.
        if (address.find('@') != std::string::npos) wipe(address.data(), address.size());
    }
    static void* operator new(std::size_t size) { return coracle::detail::allocate_block(size); }
    static void operator delete(void* p, std::size_t size) noexcept {
        coracle::detail::deallocate_block(p, size);
    }

    call_extras& set_more() {
        if (extras == nullptr) extras = std::make_unique<call_extras>();
        return *extras;
    }
    const call_extras& more() const noexcept { return extras != nullptr ? *extras : none; }
    void refuse(error e) {
        if (!more().problem) set_more().problem = std::make_unique<error>(std::move(e));
    }
    /// Null: the client's.
    const client_options* own() const noexcept { return more().own.get(); }
    const error* problem() const noexcept { return more().problem.get(); }
    bool tells() const noexcept { return static_cast<bool>(more().tell); }
    std::string_view method_text() const noexcept {
        return method == http::method::other ? std::string_view(more().other_method)
                                             : to_string(method);
    }

    std::shared_ptr<client_core> core;
    std::string address;  ///< the URL as it was given
    http::fields fields;
    http::body body;
    duration total_timeout{};
    std::unique_ptr<call_extras> extras;
    /// What waiting for a turn brought, if it waited before it began.
    connection_request* turn = nullptr;
    http::method method = http::method::get;
    bool has_body = false;
    bool is_form = false;
    bool repeatable = false;  ///< though the body is a stream, it can be made again
    /// Whether it ends on another thread than that it was made on, in whose pool its memory would
    /// pile up.
    bool goes_elsewhere = false;

private:
    static const call_extras none;
};

/// Where the call goes.
std::expected<url, error> address_of(const call_state& c, client_shard& here);
/// How much later than the first a second copy of the request is sent; zero: none is.
duration hedge_delay(const call_state& c, client_shard& here);
/// Makes the call: from its start to the head of the answer that the caller gets. `c` must live
/// until then.
task<std::expected<response, error>> make_call(call_state* c);
/// What the interceptors of a client stand around.
handler innermost_handler();
/// The same, with the body.
task<std::expected<full_response, error>> make_full_call(call_state* c);

}  // namespace coracle::http::detail
