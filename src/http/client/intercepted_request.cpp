#include "http/client/intercepted_request.hpp"

#include "http/message/token.hpp"

#include <utility>

namespace coracle::http::detail {
namespace {

/// Finds the object from the request.
struct intercepted {
    intercepted_request* by;
};

}  // namespace

intercepted_request::intercepted_request(call_state& c, url where)
    : call_(c), where_(std::move(where)) {
    request_.assign({.method = c.method,
                     .method_text = c.method_text(),
                     .target = where_.text(),
                     .path = where_.path(),
                     .query = where_.query(),
                     .host = where_.authority(),
                     .exchange = this});
    request_.fields() = c.fields;
    request_.set_data(intercepted{this});
    lend_content();
}

intercepted_request& intercepted_request::of(request& r) noexcept {
    return *r.data<intercepted>()->by;
}

call_state& intercepted_request::changed() {
    call_.fields = request_.fields();
    return call_;
}

task<std::expected<void, error>> intercepted_request::send_interim(const response&) {
    co_return std::unexpected(error(std::errc::operation_not_supported, "inform"));
}

void intercepted_request::set_method(request& of, std::string_view method) {
    const http::method known = parse_method(method);
    if (!is_token(method) || known == method::connect) {
        throw_exception(error(std::errc::invalid_argument, "set_method").on(method));
    }
    if (known == method::other) call_.set_more().other_method = method;
    call_.method = known;
    of.assign_method(known, call_.method_text());
}

void intercepted_request::set_url(request& of, std::string_view url) {
    auto read = coracle::url::parse(url);
    if (!read) throw_exception(std::move(read).error());
    call_.address = url;
    if (call_.extras != nullptr) call_.extras->query.clear();
    where_ = *std::move(read);
    of.assign_target(where_.text(), where_);
}

void intercepted_request::set_content(request&, body content, std::string_view type) {
    if (!is_field_value(type)) {
        throw_exception(error(std::errc::invalid_argument, "body").on(type));
    }
    call_.set_more().type = type;
    call_.extras->parts = nullptr;
    call_.body = std::move(content);
    call_.has_body = true;
    call_.is_form = false;
    lend_content();
}

void intercepted_request::lend_content() {
    const bool readable = call_.has_body && call_.body.in_memory();
    unread_ = readable ? call_.body.bytes() : std::string_view();
    request_.set_body(unread_.empty() ? received_body() : received_body(this));
}

task<std::expected<std::string_view, error>> intercepted_request::read() {
    co_return std::exchange(unread_, std::string_view());
}

}  // namespace coracle::http::detail
