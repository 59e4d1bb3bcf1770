#include "base/ascii.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/cookie.hpp>
#include <coracle/http/request.hpp>

namespace coracle::http {
namespace {

class status_error_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "http status"; }
    std::string message(int code) const override {
        return std::to_string(code) + ' ' + std::string(reason_phrase(static_cast<status>(code)));
    }
};

}  // namespace

const std::error_category& status_category() noexcept {
    static const status_error_category instance;
    return instance;
}

void request::hold_another(detail::pin& p) {
    for (const further_pin* f = further_pins_; f != nullptr; f = f->next) {
        if (f->what == &p) return;
    }
    auto* f = memory().allocate_array<further_pin>(1);
    *f = {&p, further_pins_};
    further_pins_ = f;
    ++p.holders;
}

/// The last one first: what it belongs to may live in one before it.
void request::release_further_pins() noexcept {
    for (const further_pin* f = further_pins_; f != nullptr; f = f->next) f->what->release();
    further_pins_ = nullptr;
}

const std::string_view* request::find_param(std::string_view name) const noexcept {
    for (std::size_t i = 0; i != param_count_; ++i) {
        const parameter& one = param_at(i);
        if (one.name == name) return &one.value;
    }
    return nullptr;
}

void request::add_further_param(std::string_view name, std::string_view value) {
    if (param_count_ == most_params) return;
    if (further_params_ == nullptr) {
        further_params_ = memory().allocate_array<parameter>(most_params - few_params);
    }
    ::new (&further_params_[param_count_ - few_params]) parameter{name, value};
    ++param_count_;
}

bool request::put_param(std::string_view name, std::string_view value) {
    for (std::size_t i = 0; i != param_count_; ++i) {
        parameter& one = param_at(i);
        if (one.name != name) continue;
        one = {name, value};
        return true;
    }
    if (param_count_ == most_params) return false;
    add_param(name, value);
    return true;
}

std::string_view request::param(std::string_view name) const noexcept {
    const std::string_view* value = find_param(name);
    return value == nullptr ? std::string_view() : *value;
}

std::optional<std::string> request::query(std::string_view name) const {
    std::string_view rest = query_;
    while (!rest.empty()) {
        const std::string_view pair = coracle::detail::take_item(rest, '&');
        const std::size_t equals = pair.find('=');
        if (form_decode(pair.substr(0, equals)) != name) continue;
        return form_decode(equals == std::string_view::npos ? std::string_view()
                                                            : pair.substr(equals + 1));
    }
    return std::nullopt;
}

task<std::expected<void, error>> request::send_interim(request* req, const response* interim) {
    if (req->exchange_ == nullptr) {
        co_return std::unexpected(error(std::errc::operation_not_supported, "inform"));
    }
    co_return co_await req->exchange_->send_interim(*interim);
}

detail::outgoing_request& request::outgoing(const char* operation) const {
    auto* const out = exchange_ == nullptr ? nullptr : exchange_->outgoing();
    if (out == nullptr) throw_exception(error(std::errc::operation_not_supported, operation));
    return *out;
}

request& request::set_method(std::string_view method) {
    outgoing("set_method").set_method(*this, method);
    return *this;
}

request& request::set_url(std::string_view url) {
    outgoing("set_url").set_url(*this, url);
    return *this;
}

const http::body& request::content() const {
    return outgoing("content").content();
}

request& request::set_content(http::body content, std::string_view type) {
    outgoing("set_content").set_content(*this, std::move(content), type);
    return *this;
}

void request::assign_target(std::string_view target, const url& parsed) noexcept {
    target_ = target;
    path_ = parsed.path();
    query_ = parsed.query();
    host_ = parsed.authority();
}

std::optional<std::string_view> request::cookie(std::string_view name) const noexcept {
    for (const field& f : fields_) {
        if (f.id != field_id::cookie) continue;
        std::string_view rest = f.value;
        cookie_pair pair;
        while (next_cookie(rest, pair)) {
            if (pair.name == name) return pair.value;
        }
    }
    return std::nullopt;
}

void request::bad_number(std::string_view name) {
    throw status_error(status::bad_request, "'" + std::string(name) + "' is not a valid number\n");
}

}  // namespace coracle::http
