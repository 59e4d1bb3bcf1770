#include "redis/bus_core.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/websocket/topics.hpp>

#include <limits>
#include <new>
#include <utility>

namespace coracle::redis::detail {
namespace {

/// Keeps the message, forgets those beyond the limit, and publishes it, in one step. An empty one
/// is forgotten. KEYS: the hash of messages, the order of their topics; both on one node.
constexpr std::string_view publish_retained = R"(
if ARGV[4] == '1' then
  redis.call('HDEL', KEYS[1], ARGV[2])
  redis.call('ZREM', KEYS[2], ARGV[2])
else
  local now = redis.call('TIME')
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
  redis.call('ZADD', KEYS[2], now[1] * 1000000 + now[2], ARGV[2])
  local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[5])
  if over > 0 then
    local old = redis.call('ZPOPMIN', KEYS[2], over)
    for i = 1, #old, 2 do redis.call('HDEL', KEYS[1], old[i]) end
  end
end
return redis.call('PUBLISH', ARGV[1], ARGV[3])
)";

const connection_options& connecting(const topic_bus_options& o) noexcept {
    return o;
}

client_options client_options_of(const topic_bus_options& o) {
    client_options c;
    static_cast<connection_options&>(c) = connecting(o);
    c.command_timeout = o.publish_timeout;
    const bool is_bounded = o.queued != std::numeric_limits<std::size_t>::max();
    c.queued = o.queued + (is_bounded ? 1 : 0);  // one that fetches
    c.wait_while_away = true;
    return c;
}

/// Channels are of a server, not of one of its databases.
std::string channel_prefix(const topic_bus_options& o, const endpoint& at) {
    const unsigned database = at.address() ? at.address()->database : 0;
    return database == 0 ? o.prefix : o.prefix + '/' + std::to_string(database);
}

}  // namespace

bus_core::bus_core(std::string_view url, topic_bus_options o)
    : options_(std::move(o)), endpoint_(url, connecting(options_)),
      retained_key_('{' + options_.prefix + "}:retained"),
      order_key_('{' + options_.prefix + "}:retained-order"),
      commands_(url, client_options_of(options_)), channels_(channel_prefix(options_, endpoint_)) {}

void bus_core::log(log_level level, std::string_view text) const {
    loop::current()->log().write(log_layer::websocket, level, text);
}

// ---- from any thread

void bus_core::start(websocket::topic_receiver& to) {
    receiver_ = &to;
    background_options o;
    o.backend = options_.backend;
    o.log = options_.log;
    // Messages have their own bound; subscriptions must not be refused.
    o.active = std::numeric_limits<std::size_t>::max();
    background_ = std::make_unique<background>(o);
    background_->start([this] { return begin(); });
}

void bus_core::stop() noexcept {
    if (background_ == nullptr) return;
    background_->stop(options_.drain);
    background_.reset();
}

void bus_core::publish(std::string_view topic, websocket::message_type type, std::string_view bytes,
                       bool retain) noexcept {
    place_in_queue place(waiting_);
    possible_loss loss(dropped_);
    if (!place.is_within(options_.queued)) return;
    try {
        outgoing m{std::string(topic), std::string(bytes), type, retain,
                   std::move(place),   std::move(loss)};
        background_->start([this, m = std::move(m)] { return send(&m); });
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory, or during `stop`: a loss
    }
}

void bus_core::subscribe(std::string_view pattern) {
    background_->start([this, p = std::string(pattern)] { return take_up(&p); });
}

/// Subscribes; without memory it tries until it has some, as nobody asks again.
task<> bus_core::take_up(const std::string* pattern) {
    constexpr duration a_while = std::chrono::milliseconds(100);
    short_of_memory self;
    self.pattern = pattern;
    short_.push_back(self);
    bool is_taken_up = false;
    while (!is_taken_up && !self.given_up) {
        try {
            if (channels_.add(*pattern)) {
                known_.insert(*pattern);
                want_retained(*pattern, false);
                fetch_work_.set();
            }
            is_taken_up = true;
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): tries again
        }
        if (!is_taken_up) co_await sleep_for(a_while);
    }
    check_standing();
    changed_.set();
}

void bus_core::unsubscribe(std::string_view pattern) noexcept {
    try {
        background_->start([this, p = std::string(pattern)]() -> task<> {
            for (auto* w = short_.front(); w != nullptr; w = short_.next(*w)) {
                if (*w->pattern == p) w->given_up = true;
            }
            channels_.remove(p);
            known_.erase(p);
            check_standing();
            changed_.set();
            co_return;
        });
    } catch (...) {  // no memory, or during `stop`: it goes on listening
        add(unwanted_, 0);
    }
}

topic_bus_counters bus_core::counters() const noexcept {
    topic_bus_counters c;
    c.published = published_;
    c.dropped = dropped_;
    c.received = received_;
    c.echoes = echoes_;
    c.duplicates = duplicates_;
    c.unwanted = unwanted_;
    c.foreign = foreign_;
    c.restored = restored_;
    c.connections = connections_;
    c.gaps = gaps_;
    c.subscriptions = subscriptions_;
    return c;
}

// ---- messages that leave

task<> bus_core::begin() {
    loop& home = *loop::current();
    self_ = {home.random(), home.random()};
    gap_since_ = home.now();
    if (!endpoint_.address()) {
        log(log_level::error, "topic bus: " + endpoint_.address().error().message());
        co_return;
    }
    spawn([this] { return listen(); }, "topic bus");
    spawn([this] { return fetch_retained(); }, "topic bus retained");
}

operation<reply> bus_core::command_for(const outgoing& m, const std::string& encoded) {
    const std::string channel = channels_.channel_of(m.topic);
    if (!m.retain) return commands_.command("PUBLISH", channel, encoded);
    // The whole script each time: one that the server had forgotten would have to be sent again,
    // behind messages that were published later.
    return commands_.command("EVAL", publish_retained, "2", retained_key_, order_key_, channel,
                             m.topic, encoded, std::string_view(m.bytes.empty() ? "1" : "0"),
                             std::to_string(options_.retained));
}

task<> bus_core::send(const outgoing* m) {
    bus_message out;
    out.from = self_;
    out.number = ++number_;
    out.type = m->type;
    out.retain = m->retain;
    out.payload = m->bytes;
    const std::string encoded = out.encode();
    auto sending = command_for(*m, encoded);
    auto sent = co_await as_result(sending);
    if (sent) {
        m->loss.averted();
        add(published_);
        co_return;
    }
    log(log_level::debug, "topic bus: dropped a message: " + sent.error().message());
}

}  // namespace coracle::redis::detail
