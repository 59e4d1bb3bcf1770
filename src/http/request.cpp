#include <coracle/base/percent.hpp>
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

void request::add_param(std::string_view name, std::string_view value) {
    if (param_count_ != most_params) params_[param_count_++] = {name, value};
}

std::string_view request::param(std::string_view name) const noexcept {
    for (std::size_t i = 0; i != param_count_; ++i) {
        if (params_[i].name == name) return params_[i].value;
    }
    return {};
}

std::optional<std::string> request::query(std::string_view name) const {
    std::string_view rest = query_;
    while (!rest.empty()) {
        const std::size_t end = rest.find('&');
        const std::string_view pair = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
        const std::size_t equals = pair.find('=');
        const auto key = form_decode(pair.substr(0, equals));
        if (!key || *key != name) continue;
        return form_decode(equals == std::string_view::npos ? std::string_view()
                                                            : pair.substr(equals + 1));
    }
    return std::nullopt;
}

task<std::expected<void, error>> request::send_interim(request* req, const response* interim) {
    if (req->interim_ == nullptr) {
        co_return std::unexpected(error(std::errc::operation_not_permitted, "inform"));
    }
    co_return co_await req->interim_->send_interim(*interim);
}

void request::bad_number(std::string_view name) {
    throw status_error(status::bad_request, "'" + std::string(name) + "' is not a valid number\n");
}

}  // namespace coracle::http
