#pragma once

#include "http/client/call_state.hpp"

#include <coracle/http/request.hpp>

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// A call as its interceptors see it: a request that they may read and change. Changes apply to the
/// call.
class intercepted_request final : exchange_control, outgoing_request, body_source {
public:
    /// `where`: the URL of the call.
    intercepted_request(call_state& c, url where);
    intercepted_request(const intercepted_request&) = delete;
    intercepted_request& operator=(const intercepted_request&) = delete;

    request& seen() noexcept { return request_; }
    /// Returns the call, with the fields that the request has now.
    call_state& changed();
    /// Returns the object behind a request that an interceptor was given.
    static intercepted_request& of(request& r) noexcept;

private:
    task<std::expected<void, error>> send_interim(const response&) override;
    void report_failure(std::string_view, bool) override {}
    outgoing_request* outgoing() noexcept override { return this; }

    void set_method(request& of, std::string_view method) override;
    void set_url(request& of, std::string_view url) override;
    const body& content() const noexcept override { return call_.body; }
    void set_content(request& of, body content, std::string_view type) override;

    task<std::expected<std::string_view, error>> read() override;
    std::optional<std::uint64_t> length() const noexcept override { return unread_.size(); }
    void lend_content();

    call_state& call_;
    url where_;
    std::string_view unread_;
    request request_;
};

}  // namespace coracle::http::detail
