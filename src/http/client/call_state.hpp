#pragma once

#include "http/client/core.hpp"

#include <coracle/http/call.hpp>
#include <coracle/http/fields.hpp>
#include <coracle/http/method.hpp>

namespace coracle::http::detail {

/// A request as it is to be made.
struct call_state {
    explicit call_state(std::shared_ptr<client_core> c) noexcept : core(std::move(c)) {}
    call_state(const call_state&) = delete;
    call_state& operator=(const call_state&) = delete;
    static void* operator new(std::size_t size) { return coracle::detail::allocate_block(size); }
    static void operator delete(void* p, std::size_t size) noexcept {
        coracle::detail::deallocate_block(p, size);
    }

    /// Keeps the first thing that a setter could not do.
    void refuse(error e) {
        if (!problem) problem = std::make_unique<error>(std::move(e));
    }

    std::shared_ptr<client_core> core;
    http::method method = http::method::get;
    std::string other_method;  ///< the text of one that has no name here
    std::string address;       ///< the URL as it was given
    std::string query;         ///< pairs to append, encoded
    http::fields fields;
    http::body body;
    std::string type;                  ///< of the body
    std::unique_ptr<form_body> parts;  ///< of which the body is made when it is sent
    bool has_body = false;
    bool is_form = false;
    bool repeatable = false;  ///< though the body is a stream, it can be made again
    duration total_timeout{};
    std::unique_ptr<client_options> own;  ///< in place of the client's options
    std::unique_ptr<error> problem;
    unique_function<bool(const progress&)> tell;

    std::string_view method_text() const noexcept {
        return method == http::method::other ? std::string_view(other_method) : to_string(method);
    }
};

/// Makes the call: from its start to the head of the answer that the caller gets. `c` must live
/// until then.
task<std::expected<response, error>> make_call(call_state* c);
/// What the interceptors of a client stand around.
handler innermost_handler();
/// The same, with the body.
task<std::expected<full_response, error>> make_full_call(call_state* c);

}  // namespace coracle::http::detail
