#include <coracle/http/handler.hpp>

namespace coracle::http {

task<response> handler::run(const implementation* inner, request* req) {
    response answer;
    task<response> pending;
    if (!inner->call(*req, answer, pending)) co_return co_await std::move(pending);
    co_return std::move(answer);
}

}  // namespace coracle::http
