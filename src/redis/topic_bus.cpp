#include "redis/bus_core.hpp"

#include <utility>

namespace coracle::redis {

topic_bus::topic_bus(std::string_view url, topic_bus_options o)
    : core_(std::make_shared<detail::bus_core>(url, std::move(o))) {}

topic_bus::~topic_bus() {
    core_->stop();
}

void topic_bus::start(websocket::topic_receiver& to) {
    core_->start(to);
}
void topic_bus::stop() noexcept {
    core_->stop();
}
void topic_bus::publish(std::string_view topic, websocket::message_type type,
                        std::string_view bytes, bool retain) {
    core_->publish(topic, type, bytes, retain);
}
void topic_bus::subscribe(std::string_view pattern) {
    core_->subscribe(pattern);
}
void topic_bus::unsubscribe(std::string_view pattern) noexcept {
    core_->unsubscribe(pattern);
}
bool topic_bus::is_connected() const noexcept {
    return core_->is_standing();
}
topic_bus_counters topic_bus::counters() const noexcept {
    return core_->counters();
}

}  // namespace coracle::redis
