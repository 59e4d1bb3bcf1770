#include "http/exception_view.hpp"

#include <coracle/http/middleware/exception_page.hpp>

#include <memory>
#include <utility>

namespace coracle::http {
namespace {

/// Marks the request: what makes the response to an exception, wherever it is caught, reads that.
class marking final : public handler::implementation {
public:
    marking(exception_page_options o, handler inner) noexcept
        : options_(o),  // NOLINT(bugprone-throw-keyword-missing): its name is all it has of one
          inner_(std::move(inner)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        req.set_data(detail::exception_view{options_.loopback_only});
        return inner_.call(req, out, pending);
    }

private:
    exception_page_options options_;
    handler inner_;
};

}  // namespace

handler exception_page::operator()(handler inner) const {
    return handler(std::make_shared<const marking>(options_, std::move(inner)));
}

}  // namespace coracle::http
