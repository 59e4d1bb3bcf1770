#pragma once

#include <coracle/http/handler.hpp>

#include <memory>
#include <utility>

namespace coracle::http::detail {

/// A middleware of two steps around a handler, which costs no coroutine where the handler is none.
/// `Rules` has `bool admit(request&, response& out)`, which makes the response itself where it
/// gives false, and `void finish(const request&, response&)` for the response of the handler. It is
/// shared by all requests, of all loops.
template <class Rules>
class filter final : public handler::implementation {
public:
    filter(std::shared_ptr<Rules> rules, handler inner)
        : rules_(std::move(rules)), inner_(std::move(inner)) {}

    bool call(request& req, response& out, task<response>& pending) const override {
        if (!rules_->admit(req, out)) return true;
        if (inner_.call(req, out, pending)) {
            rules_->finish(req, out);
            return true;
        }
        pending = finish_later(rules_.get(), &req, std::move(pending));
        return false;
    }

private:
    static task<response> finish_later(Rules* rules, const request* req, task<response> handling) {
        response r = co_await std::move(handling);
        rules->finish(*req, r);
        co_return r;
    }

    std::shared_ptr<Rules> rules_;
    handler inner_;
};

template <class Rules>
handler filtered(const std::shared_ptr<Rules>& rules, handler inner) {
    return handler(std::make_shared<const filter<Rules>>(rules, std::move(inner)));
}

}  // namespace coracle::http::detail
