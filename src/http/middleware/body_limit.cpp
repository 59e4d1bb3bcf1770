#include "http/body/body_layer.hpp"
#include "http/error_style.hpp"
#include "http/middleware/filter.hpp"

#include <coracle/http/middleware/body_limit.hpp>

#include <memory>
#include <vector>

namespace coracle::http {
namespace {

/// A body of which only so many bytes can be read.
class limited_source final : public detail::body_layer {
public:
    limited_source(received_body whole, std::uint64_t limit) noexcept
        : body_layer(whole), left_(limit) {}

    task<std::expected<std::string_view, error>> read() override {
        auto reading = whole().read();
        auto piece = co_await as_result(reading);
        if (!piece) co_return std::unexpected(std::move(piece).error());
        if (piece->size() > left_) {
            error e(make_error_code(status::content_too_large), "body", phase::receive);
            co_return std::unexpected(whole().refuse(std::move(e.on("body_limit"))));
        }
        left_ -= piece->size();
        co_return *piece;
    }

private:
    std::uint64_t left_;
};

/// The limits of one request, of a group and of a route say, in its data. They live as long as it,
/// so a response that reads the body while it is written may.
struct limits_of_request {
    std::vector<std::unique_ptr<limited_source>> all;
};

class limit_rules {
public:
    explicit limit_rules(std::uint64_t bytes) noexcept : bytes_(bytes) {}

    bool admit(request& req, response& out) const {
        if (req.body().ended()) return true;
        const auto announced = req.body().length();
        if (announced && *announced > bytes_) {
            req.body().refuse(error(make_error_code(status::content_too_large), "body"));
            out = detail::error_response(req, status::content_too_large);
            return false;
        }
        auto* limits = req.data<limits_of_request>();
        if (limits == nullptr) limits = &req.emplace_data<limits_of_request>();
        limits->all.push_back(std::make_unique<limited_source>(req.body(), bytes_));
        req.set_body(received_body(limits->all.back().get()));
        return true;
    }
    void finish(const request&, response&) const noexcept {}

private:
    std::uint64_t bytes_;
};

}  // namespace

handler body_limit::operator()(handler inner) const {
    return detail::filtered(std::make_shared<const limit_rules>(bytes_), std::move(inner));
}

}  // namespace coracle::http
