#include "websocket/topic_pattern.hpp"
#include "websocket/topic_state.hpp"

#include <utility>

namespace coracle::websocket {

namespace {

[[noreturn]] void refuse(std::string_view name, const char* operation) {
    error e(std::errc::invalid_argument, operation);
    throw_exception(std::move(e.on(name)));
}

}  // namespace

// ---- subscription

subscription::subscription(std::unique_ptr<detail::topic_subscriber> s) noexcept
    : subscriber_(std::move(s)) {}
subscription::subscription(subscription&&) noexcept = default;
subscription& subscription::operator=(subscription&&) noexcept = default;
subscription::~subscription() = default;

void subscription::cancel() noexcept {
    subscriber_.reset();
}

// ---- topics

topics::topics(topic_options o, std::shared_ptr<topic_bus> bus)
    : state_(std::make_shared<detail::topic_state>(o, std::move(bus))) {}

subscription topics::subscribe(connection& ws, std::string_view pattern) {
    if (!detail::is_pattern(pattern)) refuse(pattern, "topics subscribe");
    detail::topic_shard& here = state_->here();
    std::vector<std::shared_ptr<const detail::shared_frame>> kept;
    auto made = here.subscribe(pattern, ws.engine(), kept);
    const topic_options& o = state_->options();
    for (const auto& frame : kept) {
        state_->count_delivery(
            !ws.engine()->share_retained(frame, o.backlog, o.retained, o.policy));
    }
    return subscription(std::move(made));
}

std::size_t topics::publish(std::string_view topic, message_type type, std::string_view bytes,
                            bool retain) {
    if (!detail::is_pattern(topic) || detail::is_wild(topic)) {
        refuse(topic, "topics publish");
    }
    return state_->publish(topic, type, bytes, retain, true);
}

std::size_t topics::presence(std::string_view pattern) const {
    return state_->presence(pattern);
}

std::optional<std::string> topics::retained(std::string_view topic) const {
    return state_->retained(topic);
}

topic_counters topics::counters() const noexcept {
    return state_->counters();
}

}  // namespace coracle::websocket
