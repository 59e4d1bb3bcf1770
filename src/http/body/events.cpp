#include "runtime/century.hpp"

#include <coracle/http/drain_signal.hpp>
#include <coracle/http/events.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

namespace coracle::http {

task<std::expected<void, error>> event_sink::write(event_sink* self, std::string text) {
    const auto guard = co_await self->lock_.lock();
    auto written = co_await as_result(self->out_->write(text));
    self->last_write_ = loop::current()->now();
    co_return written;
}

operation<void> event_sink::send(const server_event& e) {
    std::string text;
    if (!append_event(text, e)) {
        return std::expected<void, error>(
            std::unexpected(error(std::errc::invalid_argument, "event_sink")));
    }
    return write(this, std::move(text));
}

operation<void> event_sink::send(std::string_view data) {
    return send({.data = data});
}

operation<void> event_sink::comment(std::string_view text) {
    std::string lines;
    append_event_comment(lines, text);
    return write(this, std::move(lines));
}

/// The function of the body of such a response.
class event_response {
public:
    event_response(event_function send, std::string_view last_event_id, event_options options,
                   drain_signal* drain)
        : send_(std::move(send)), last_event_id_(last_event_id), options_(options),
          drain_(options.ends_with_server ? drain : nullptr) {}

    task<> operator()(body_writer& out) { return run(this, &out); }

private:
    static task<> run(event_response* self, body_writer* out) {
        event_sink sink(*out, self->last_event_id_);
        co_await out->flush();
        sink.last_write_ = loop::current()->now();
        if (self->options_.retry) {
            const server_event how{.retry = self->options_.retry};
            co_await sink.send(how);
        }
        // Held until the others have ended: what the content would send now is not begun.
        std::optional<mutex_guard<unit>> no_more;
        auto content = run_content(self, &sink);
        auto farewell = end_with_server(self->drain_, &sink, &no_more);
        if (self->options_.heartbeat.count() <= 0) {
            co_await when_any(std::move(content), std::move(farewell));
            co_return;
        }
        const auto longest =
            std::chrono::floor<std::chrono::milliseconds>(coracle::detail::century);
        auto heartbeat = beat(&sink, std::min(self->options_.heartbeat, longest));
        co_await when_any(std::move(content), std::move(heartbeat), std::move(farewell));
    }

    static task<> end_with_server(drain_signal* drain, event_sink* sink,
                                  std::optional<mutex_guard<unit>>* no_more) {
        drain_notice notice(drain);
        co_await notice.wait();
        auto guard = co_await sink->lock_.lock();
        no_more->emplace(std::move(guard));
        if (!sink->ended_) co_await sink->out_->write(": the server is going away\n\n");
        sink->ended_ = true;
    }

    static task<> run_content(event_response* self, event_sink* sink) {
        co_await self->send_(*sink);
        // A heartbeat that is being written must not be cut by our end.
        const auto guard = co_await sink->lock_.lock();
        sink->ended_ = true;
    }

    static task<> beat(event_sink* sink, duration silence) {
        for (;;) {
            co_await sleep_until(sink->last_write_ + silence);
            if (loop::current()->now() - sink->last_write_ < silence) continue;
            const auto guard = co_await sink->lock_.lock();
            if (sink->ended_) co_return;
            if (loop::current()->now() - sink->last_write_ < silence) continue;
            co_await sink->out_->write(":\n\n");
            sink->last_write_ = loop::current()->now();
        }
    }

    event_function send_;
    std::string last_event_id_;
    event_options options_;
    drain_signal* drain_;
};

response events(request& req, event_function send, event_options options) {
    response r =
        stream(event_response(std::move(send), req.header("last-event-id"), options, drain_of(req)),
               "text/event-stream");
    r.set("Cache-Control", "no-store").set("X-Accel-Buffering", "no");
    return r;
}

}  // namespace coracle::http
