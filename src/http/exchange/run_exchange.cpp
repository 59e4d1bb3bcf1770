#include "http/exchange/run_exchange.hpp"

#include "http/exchange/body_stream.hpp"
#include "http/exchange/exchange_scope.hpp"
#include "http/exchange/failure.hpp"
#include "http/exchange/guarded_call.hpp"
#include "http/exchange/replace_response.hpp"

namespace coracle::http::detail {
namespace {

/// Ends an exchange whose client has left, or whose handler was cancelled.
bool lose_client(response_channel& to) noexcept {
    if (to.client_gone()) to.count_gone();
    to.abandon();
    return false;
}

/// Returns false if the client has left.
task<bool> wait_for_handler(exchange& e, response_channel& to) {
    if (!to.watch_client()) {
        to.give_up_client();
        co_return lose_client(to);
    }
    to.take_interim(true);
    guarded_call<response> call(std::move(e.pending), to.running());
    co_await call;
    to.take_interim(false);
    to.stop_watching();
    const bool failed = call.exception() != nullptr || to.failed_when_gone();
    // After a failed write of an interim response, the client cannot parse further bytes.
    if (to.is_broken() || call.was_stopped() || (to.client_gone() && failed)) {
        co_return lose_client(to);
    }
    if (auto thrown = call.exception())
        e.res = last_failed_response(e.req, thrown);
    else
        e.res = call.take();
    co_return true;
}

task<bool> send_stream(exchange& e, response_channel& to) {
    if (!may_have_body(e)) {
        to.begin_body(e, e.res.body().size(), false);
        co_return co_await to.flush();
    }
    if (!to.watch_client()) {
        to.give_up_client();
        co_return lose_client(to);
    }
    body_stream writer(to, e);
    // One that is no coroutine may throw before it gives its task.
    const auto sends = [&] { return e.res.body().stream_part()(writer); };
    guarded_call<void> call(coracle::detail::call_in_task(sends), to.running());
    co_await call;
    to.stop_watching();
    // A task beside the handler may read the body of the request.
    if (event* const going_on = to.continuing()) co_await going_on->wait();
    const auto thrown = call.exception();
    if (thrown != nullptr && !to.client_gone() && !to.is_broken() && !writer.begun()) {
        replace_response(e.res, last_failed_response(e.req, thrown));
        co_return co_await to.send_bytes(e);
    }
    // A function that was cancelled may have ended before its time, and without an exception.
    const bool cut = call.own_context().cancelled() && !writer.whole();
    // Also by what was sent before the head, such as a 100.
    const bool lost = to.is_broken() && !writer.file_failed();
    const bool in_order = !cut && !to.is_broken() && thrown == nullptr && writer.finish();
    if (in_order) co_return co_await to.flush();
    to.abandon();
    if (to.client_gone()) to.count_gone();
    if (to.client_gone() || lost) co_return false;
    // The status that was sent stays.
    if (thrown != nullptr)
        static_cast<void>(last_failed_response(e.req, thrown));
    else if (!cut)
        to.host().log(log_level::error, to.client_address(),
                      "a streamed response was shorter than it had announced");
    co_return false;
}

task<bool> send_response(exchange& e, response_channel& to) {
    to.check_response(e);
    if (e.res.body().in_memory() && e.res.upgrade() != nullptr) return to.switch_protocols(e);
    if (!is_final(e.res.status())) {
        to.host().log(log_level::error, to.client_address(),
                      "a handler responded with a status that is interim, or none");
        e.res = response(status::internal_server_error, "500 Internal Server Error\n");
    }
    switch (e.res.body().type()) {
        case body::kind::file: return to.send_file(e);
        case body::kind::stream: return send_stream(e, to);
        default: return to.send_bytes(e);
    }
}

task<bool> carry_out(exchange& e, response_channel& to) {
    if (e.pending) {
        const bool good = co_await wait_for_handler(e, to);
        if (!good) co_return false;
    }
    const bool ok = co_await send_response(e, to);
    if (!to.goes_on_upgraded()) to.host().response_over(e, to.client_address(), ok);
    co_return ok;
}

/// The exchange with what its handler starts beside it. Lives in a frame that outlives those tasks.
struct scoped_exchange {
    scoped_exchange(exchange& of, response_channel& on) noexcept : e(of), to(on) {
        to.set_scope(&scope);
    }
    scoped_exchange(const scoped_exchange&) = delete;
    scoped_exchange& operator=(const scoped_exchange&) = delete;
    ~scoped_exchange() { to.set_scope(nullptr); }

    task<bool> carry_out_beside(task_group* tasks) {
        scope.tasks = tasks;
        const bool ok = co_await carry_out(e, to);
        scope.response_over.set();
        co_return ok;
    }

    exchange& e;
    response_channel& to;
    exchange_scope scope;
};

task<bool> carry_out_with_scope(exchange& e, response_channel& to) {
    scoped_exchange all(e, to);
    const auto run = [&all](task_group& tasks) { return all.carry_out_beside(&tasks); };
    auto running = with_task_group(run);
    co_return co_await std::move(running);
}

}  // namespace

bool may_wait(const exchange& e) noexcept {
    return e.pending || e.res.body().type() == body::kind::stream;
}

task<bool> run_exchange(exchange& e, response_channel& to) {
    // Only who has a body to pass on does anything beside its response.
    return e.pending && !e.req.body().ended() ? carry_out_with_scope(e, to) : carry_out(e, to);
}

}  // namespace coracle::http::detail
