#include <coracle/http/events.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

namespace coracle::http {

task<std::expected<void, error>> event_sink::write(event_sink* self, std::string text) {
    const auto turn = co_await self->lock_.lock();
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

/// What the body of such a response runs.
class event_response {
public:
    event_response(event_function send, std::string_view last_event_id, event_options options)
        : send_(std::move(send)), last_event_id_(last_event_id), options_(options) {}

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
        auto content = run_content(self, &sink);
        if (self->options_.heartbeat.count() <= 0) {
            co_await std::move(content);
            co_return;
        }
        auto heartbeat = beat(&sink, self->options_.heartbeat);
        co_await when_any(std::move(content), std::move(heartbeat));
    }

    static task<> run_content(event_response* self, event_sink* sink) {
        co_await self->send_(*sink);
        // A heartbeat that is being written must not be cut by our end.
        const auto turn = co_await sink->lock_.lock();
        sink->ended_ = true;
    }

    static task<> beat(event_sink* sink, duration silence) {
        for (;;) {
            co_await sleep_until(sink->last_write_ + silence);
            if (loop::current()->now() - sink->last_write_ < silence) continue;
            const auto turn = co_await sink->lock_.lock();
            if (sink->ended_) co_return;
            if (loop::current()->now() - sink->last_write_ < silence) continue;
            co_await sink->out_->write(":\n\n");
            sink->last_write_ = loop::current()->now();
        }
    }

    event_function send_;
    std::string last_event_id_;
    event_options options_;
};

response events(request& req, event_function send, event_options options) {
    response r = stream(event_response(std::move(send), req.header("last-event-id"), options),
                        "text/event-stream");
    r.set("Cache-Control", "no-store").set("X-Accel-Buffering", "no");
    return r;
}

}  // namespace coracle::http
