#include "http/exchange/failure.hpp"
#include "runtime/end_if_cancelled.hpp"

#include <coracle/http/handler.hpp>

namespace coracle::http {
namespace {

/// The error that was thrown; no error for another exception.
error error_in(const std::exception_ptr& thrown) noexcept {
    try {
        std::rethrow_exception(thrown);
    } catch (const exception& e) {
        return e.error();
    } catch (...) {
        return {};
    }
}

/// The response of a handler that threw. Never returns where the task was cancelled: then it is no
/// failure of the handler, and whoever cancelled it responds.
task<response> response_to(std::exception_ptr thrown, request* req) {
    co_await coracle::detail::end_if_cancelled(error_in(thrown));
    co_return detail::failed_response(*req, thrown);
}

task<response> contained_later(task<response> pending, request* req) {
    std::exception_ptr thrown;
    try {
        co_return co_await std::move(pending);
    } catch (...) {
        thrown = std::current_exception();
    }
    co_return co_await response_to(std::move(thrown), req);
}

class container final : public handler::implementation {
public:
    explicit container(handler inner) noexcept : inner_(std::move(inner)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        try {
            if (inner_.call(req, out, pending)) return true;
        } catch (...) {
            out = detail::failed_response(req, std::current_exception());
            return true;
        }
        pending = contained_later(std::move(pending), &req);
        return false;
    }
    const handler* contained() const noexcept override { return &inner_; }
    std::span<const std::string_view> path_names() const noexcept override {
        return inner_.path_names();
    }

private:
    handler inner_;
};

/// Runs a handler without a frame of its own for `contained_later`: a middleware costs one frame
/// less.
task<response> run_contained(const handler* inner, request* req) {
    response out;
    task<response> pending;
    std::exception_ptr thrown;
    try {
        if (!inner->call(*req, out, pending)) out = co_await std::move(pending);
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown != nullptr) out = co_await response_to(std::move(thrown), req);
    co_return out;
}

}  // namespace

task<response> handler::run(const implementation* inner, request* req) {
    response out;
    task<response> pending;
    if (!inner->call(*req, out, pending)) co_return co_await std::move(pending);
    co_return std::move(out);
}

task<response> handler::operator()(request& req) const {
    const handler* const contained = inner_->contained();
    return contained != nullptr ? run_contained(contained, &req) : run(inner_.get(), &req);
}

namespace detail {

handler contain(handler inner) {
    return handler(std::make_shared<container>(std::move(inner)));
}

}  // namespace detail

}  // namespace coracle::http
