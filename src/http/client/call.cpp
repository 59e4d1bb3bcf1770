#include "http/client/call_state.hpp"
#include "http/client/file_content.hpp"
#include "http/client/queued_call.hpp"
#include "http/message/token.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/call.hpp>
#include <coracle/http/client_settings.hpp>

namespace coracle::http {

call::call(detail::owned_call state) noexcept : state_(std::move(state)) {}
call::call(call&&) noexcept = default;
call& call::operator=(call&& other) noexcept {
    running_.reset();
    if (other.running_) running_.emplace(*std::move(other.running_));
    state_ = std::move(other.state_);
    gives_errors_ = other.gives_errors_;
    return *this;
}
call::~call() = default;

operation<response>& call::begin() {
    running_.emplace(detail::make_call(state_.get()));
    if (gives_errors_) running_->give_errors();
    return *running_;
}

operation<full_response> call::full() & {
    return detail::make_full_call(state_.get(), nullptr);
}

operation<full_response> call::full() && {
    detail::call_state* const state = state_.get();
    return detail::make_full_call(state, std::move(state_));
}

operation<void> call::run_duplex(unique_function<task<>(response&)> f) && {
    state_->set_more().on_response = std::move(f);
    return detail::make_duplex_call(std::move(state_));
}

client_options& call::own_options() {
    auto& own = state_->set_more().own;
    if (own == nullptr) own = std::make_unique<client_options>(state_->core->defaults());
    return *own;
}

call call::copy() const {
    return call(detail::owned_call(new detail::call_state(*state_)));
}

call& call::query(std::string_view name, std::string_view value) & {
    std::string& q = state_->set_more().query;
    if (!q.empty()) q += '&';
    q += percent_encode(name) + '=' + percent_encode(value);
    return *this;
}

call& call::header(std::string_view name, std::string_view value) & {
    if (is_token(name) && is_field_value(value)) {
        state_->fields.set(name, value);
    } else {
        state_->refuse(error(std::errc::invalid_argument, "header").on(name));
    }
    return *this;
}

call& call::never_index(std::string_view name) {
    state_->fields.never_index(name);
    return *this;
}

call& call::add_header(std::string_view name, std::string_view value) & {
    if (is_token(name) && is_field_value(value)) {
        state_->fields.add(name, value);
    } else {
        state_->refuse(error(std::errc::invalid_argument, "header").on(name));
    }
    return *this;
}

call& call::fields(http::fields all) & {
    state_->fields = std::move(all);
    return *this;
}

call& call::multipart(form_body parts) & {
    state_->set_more().parts = std::make_shared<form_body>(std::move(parts));
    state_->has_body = true;
    state_->is_form = false;
    return *this;
}

call& call::body(http::body content, std::string_view type) & {
    if (!is_field_value(type)) state_->refuse(error(std::errc::invalid_argument, "body").on(type));
    state_->body = std::move(content);
    state_->set_more().type = type;
    state_->has_body = true;
    state_->is_form = false;
    state_->set_more().parts.reset();
    return *this;
}

call& call::form(std::string_view name, std::string_view value) & {
    std::string pairs;
    if (state_->is_form) pairs = std::string(state_->body.bytes()) + '&';
    pairs += percent_encode(name) + '=' + percent_encode(value);
    body(http::body(std::move(pairs)), "application/x-www-form-urlencoded");
    state_->is_form = true;
    return *this;
}

call& call::body_file(const std::string& path, std::string_view type) & {
    auto opened = detail::open_content(path);
    if (!opened) {
        state_->refuse(std::move(opened).error());
        return *this;
    }
    const bool in_memory = opened->file.size() == 0;
    return body(
        in_memory ? http::body(std::move(opened->text)) : http::body::file(std::move(opened->file)),
        type);
}

call& call::upgrade(std::string_view protocol) & {
    header("Connection", "Upgrade");
    header("Upgrade", protocol);
    state_->set_more().may_be_tunnel = true;
    return *this;
}
call& call::bearer(secret token) & {
    own_options().authentication = {auth_scheme::bearer, {}, std::move(token)};
    return *this;
}
call& call::basic(std::string user, secret password) & {
    own_options().authentication = {auth_scheme::basic, std::move(user), std::move(password)};
    return *this;
}
call& call::digest(std::string user, secret password) & {
    own_options().authentication = {auth_scheme::digest, std::move(user), std::move(password)};
    return *this;
}

call& call::timeout(duration limit) & {
    state_->total_timeout = limit;
    return *this;
}
call& call::follow(http::follow how, unsigned most) & {
    own_options().follow = how;
    own_options().redirects = most;
    return *this;
}
call& call::retry(unsigned retries, duration delay) & {
    retry_options& own = own_options().retry;
    own.retries = retries;
    own.delay = delay;
    own.budget_percent = 0;
    return *this;
}
call& call::set_options(client_options all) {
    own_options() = std::move(all);
    return *this;
}
call& call::options(std::string_view text) & {
    auto read = read_options(own_options(), text);
    if (!read) state_->refuse(std::move(read).error());
    return *this;
}
call& call::set_progress(unique_function<bool(const progress&)> report) {
    state_->set_more().report = std::move(report);
    return *this;
}

call& call::set_interim(unique_function<task<>(const response&)> f) {
    state_->set_more().on_interim = std::move(f);
    return *this;
}

call& call::set_earlier(unique_function<task<>(const response&)> f) {
    state_->set_more().on_earlier = std::move(f);
    return *this;
}

std::shared_ptr<background> call::own_loop() const {
    return state_->core->own_loop().get();
}

full_response call::wait() && {
    const auto own = own_loop();
    return own->wait([this] { return full(); });
}

background_call call::start(unique_function<void(std::expected<full_response, error>)> callback,
                            callback_on where) && {
    using result = std::expected<full_response, error>;
    auto report = [callback = std::move(callback)](std::expected<result, error> r) mutable {
        callback(r ? *std::move(r) : result(std::unexpected(std::move(r).error())));
    };
    try {
        const auto own = own_loop();
        return own->start(detail::queued_call(std::move(state_)), std::move(report), where);
    } catch (const exception& e) {
        // A failed change leaves the options as they were.
        report(std::unexpected(e.error()));
    }
    auto over = std::make_shared<coracle::detail::call_state>();
    over->over.set();
    return background_call(std::move(over));
}

background_call call::start() && {
    return std::move(*this).start([](const std::expected<full_response, error>&) {},
                                  callback_on::loop);
}

}  // namespace coracle::http
