#include "redis/bus_core.hpp"

#include "websocket/topic_pattern.hpp"

#include <coracle/redis/error.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
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

using coracle::detail::is_cancellation;

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

/// Returns true if fetching may succeed later: the connection failed, or the server is unavailable.
bool may_be_asked_again(const error& e) noexcept {
    return e.code().category() != redis::category() || e == redis::errc::unavailable;
}

/// Returns true for a reply beyond a limit, which the next one would be as well.
bool is_too_large(const error& e) noexcept {
    return e == coracle::errc::limit_exceeded && !e.safe_to_retry();
}

/// Returns true for "NOPERM User app has no permissions to run the 'ping' command".
bool refuses_ping(const reply& r) {
    return code_of_reply(r.text()) == errc::no_permission &&
           r.text().find("'ping'") != std::string_view::npos;
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

// ---- the connection for subscriptions

void bus_core::lose(error why) noexcept {
    if (!lost_) lost_ = std::move(why);
    if (carrying_ != nullptr) carrying_->cancel();
}

task<> bus_core::listen() {
    net::resolver names(*loop::current(), options_.resolver);
    backoff delays(options_);
    for (;;) {
        bool goes_on = true;
        try {
            auto listening = listen_once(&names, &delays);
            goes_on = co_await std::move(listening);
        } catch (const std::bad_alloc&) {
            begin_gap({std::errc::not_enough_memory, "redis connection"});
        }
        if (!goes_on) co_return;
        auto pause = sleep_for(delays.next());
        auto slept = co_await as_result(pause);
        if (!slept) co_return;
    }
}

/// Connects, and listens until the connection is lost. Gives false when it is to stop.
task<bool> bus_core::listen_once(net::resolver* names, backoff* delays) {
    auto opening = open(endpoint_, *names);
    auto opened = co_await std::move(opening);
    if (!opened && is_cancellation(opened.error())) co_return false;
    if (opened) {
        add(connections_);
        lost_.reset();
        const time_point since = loop::current()->now();
        auto carrying = carry(**opened);
        co_await std::move(carrying);
        if (!lost_) co_return false;
        // One that lasts has cost no attempt in vain.
        if (loop::current()->now() - since > options_.longest_delay) delays->reset();
    } else {
        lost_ = std::move(opened).error();
    }
    if (!begin_gap(*lost_)) co_return true;
    log(log_level::warning,
        "topic bus: Redis at " + endpoint_.address()->name() + " is away: " + lost_->message());
    co_return true;
}

/// Returns false if there is one already: a connection that is lost before all subscriptions are
/// confirmed does not end it.
bool bus_core::begin_gap(error why) noexcept {
    if (gap_) return false;
    if (connections_ != 0) gap_since_ = loop::current()->now();
    gap_ = std::move(why);
    return true;
}

/// The end of a connection, whatever it ends by.
struct bus_core::ending {
    bus_core* of;
    ~ending() {
        of->carrying_ = nullptr;
        of->connected_ = false;
        ++of->generation_;
        of->ponged_.set();
        of->standing_ = false;
        of->subscriptions_ = 0;
    }
};

task<> bus_core::carry(connection& c) {
    const ending at_the_end{this};
    channels_.forget_connection();
    pinged_ = false;
    pings_ = pings_sent_ = pongs_ = 0;
    connected_ = true;
    const auto body = [this, &c](task_group& g) -> task<> {
        carrying_ = &g;
        g.spawn([this, &c] { return write_changes(c); }, "topic bus writer");
        check_standing();
        co_await read_all(c);
    };
    auto carrying = with_task_group(body);
    static_cast<void>(co_await as_result(carrying));
}

task<> bus_core::write_changes(connection& c) {
    for (;;) {
        std::string bytes;
        const bool more = channels_.take_commands(bytes);
        for (; pings_sent_ < pings_; ++pings_sent_) {
            const std::string_view ping[] = {"PING"};
            append_command(bytes, ping);
        }
        if (bytes.empty() && !more) {
            changed_.reset();
            co_await changed_.wait();
            continue;
        }
        auto sending = c.send(bytes);
        auto sent = co_await std::move(sending);
        if (sent) continue;
        if (!is_cancellation(sent.error())) lose(std::move(sent).error());
        co_return;
    }
}

task<> bus_core::read_all(connection& c) {
    for (;;) {
        const std::uint64_t before = c.received();
        auto receiving = c.receive();
        auto limited = with_timeout(options_.ping, std::move(receiving));
        auto ended = co_await as_result(limited);
        if (ended && *ended) {
            pinged_ = false;
            take(**ended);
            continue;
        }
        error why;
        const bool is_late = !ended && ended.error() == std::errc::timed_out;
        // A large message on a slow link: the reply to PING stands behind it.
        if (is_late && c.received() != before) {
            pinged_ = false;
            continue;
        }
        if (ended)
            why = ended->error();
        else
            why = ended.error();
        if (is_late && !pinged_) {
            pinged_ = true;
            ping();
            continue;
        }
        if (is_late) why.on("topic_bus_options::ping");
        if (!is_cancellation(why)) lose(std::move(why));
        co_return;
    }
}

void bus_core::take(const reply& r) {
    if (r.kind() == reply_kind::error && !refuses_ping(r)) {
        lose(error_of(r, "redis SUBSCRIBE"));
        return;
    }
    const auto parts = r.elements();
    // Without a subscription the reply to PING is a status. A refusal shows the same.
    std::string_view kind = "pong";
    if (!parts.empty()) kind = parts[0].text();
    if (kind == "message" && parts.size() == 3) {
        take_message(false, parts[1].text(), parts[1].text(), parts[2].text());
    } else if (kind == "pmessage" && parts.size() == 4) {
        take_message(true, parts[1].text(), parts[2].text(), parts[3].text());
    } else if (kind == "subscribe" && parts.size() == 3) {
        confirm(false, parts[1].text());
    } else if (kind == "psubscribe" && parts.size() == 3) {
        confirm(true, parts[1].text());
    } else if (kind == "unsubscribe" || kind == "punsubscribe") {
        check_standing();
    } else if (kind == "pong") {
        ++pongs_;
        ponged_.set();
    }
}

void bus_core::ping() noexcept {
    ++pings_;
    changed_.set();
}

/// Waits until all has been read that was on its way when it was called. False when the connection
/// was lost.
task<bool> bus_core::catch_up() {
    const std::uint64_t connection = generation_;
    if (!connected_) co_return false;
    ping();
    const std::uint64_t wanted = pings_;
    while (connection == generation_ && pongs_ < wanted) {
        ponged_.reset();
        co_await ponged_.wait();
    }
    co_return connection == generation_;
}

void bus_core::take_message(bool by_glob, std::string_view name, std::string_view channel,
                            std::string_view payload) {
    const auto m = bus_message::parse(payload);
    const std::string_view topic = channels_.topic_of(channel);
    if (!m || topic.empty()) {
        add(foreign_);
        return;
    }
    if (m->from == self_) {
        add(echoes_);
        return;
    }
    if (!channels_.wants(by_glob, name, topic)) {
        add(unwanted_);
        return;
    }
    // Redis sends the copies for several subscriptions of a connection one after the other.
    if (m->from == last_from_ && m->number == last_number_) {
        add(duplicates_);
        return;
    }
    last_from_ = m->from;
    last_number_ = m->number;
    add(received_);
    receiver_->deliver(topic, m->type, m->payload, m->retain);
}

void bus_core::confirm(bool by_glob, std::string_view name) {
    for (std::string& p : channels_.confirmed(by_glob, name)) {
        const bool again = !known_.insert(p).second;
        want_retained(std::move(p), again);
    }
    fetch_work_.set();
    check_standing();
}

/// Has what is retained for a pattern fetched, once more where that has begun already.
void bus_core::want_retained(std::string pattern, bool again, unsigned page) {
    if (const auto at = unbegun_.find(pattern); at != unbegun_.end()) {
        at->second = at->second || again;
        return;
    }
    // First: without memory, `unbegun_` must name nothing that `to_fetch_` lacks.
    to_fetch_.push_back({pattern, again, page});
    unbegun_.emplace(std::move(pattern), again);
}

void bus_core::check_standing() {
    subscriptions_ = connected_ ? channels_.confirmed_count() : 0;
    const bool stands = connected_ && channels_.all_confirmed();
    standing_ = stands;
    if (stands && gap_) report_gap();
}

void bus_core::report_gap() {
    topic_gap g;
    g.away = loop::current()->now() - gap_since_;
    g.why = *std::exchange(gap_, std::nullopt);
    const std::uint64_t dropped = dropped_;
    g.dropped = dropped - std::exchange(dropped_before_, dropped);
    add(gaps_);
    receiver_->missed();
    log(log_level::warning, "topic bus: Redis at " + endpoint_.address()->name() +
                                " is back; messages may have been missed");
    if (!options_.on_gap) return;
    try {
        options_.on_gap(g);
    } catch (...) {
        log(log_level::error, "topic bus: on_gap ended by an exception");
    }
}

// ---- messages that were retained elsewhere

task<> bus_core::fetch_retained() {
    backoff delays(options_);
    for (;;) {
        if (to_fetch_.empty()) {
            fetch_work_.reset();
            co_await fetch_work_.wait();
            continue;
        }
        fetched how = fetched::later;
        try {
            auto fetching = fetch_first();
            how = co_await std::move(fetching);
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it is still the first
        }
        if (how == fetched::stopped) co_return;
        if (how == fetched::now) {
            delays.reset();
            continue;
        }
        auto pause = sleep_for(delays.next());
        auto slept = co_await as_result(pause);
        if (!slept) co_return;
    }
}

/// Fetches the first of `to_fetch_`, which it keeps until it is done with it.
task<bus_core::fetched> bus_core::fetch_first() {
    wanted_messages& next = to_fetch_.front();
    if (const auto wanted = unbegun_.extract(next.pattern)) {
        next.again = next.again || wanted.mapped();
    }
    if (!known_.contains(next.pattern)) {
        to_fetch_.pop_front();
        co_return fetched::now;
    }
    auto fetching = fetch_one(&next);
    const auto done = co_await std::move(fetching);
    if (!done && is_cancellation(done.error())) co_return fetched::stopped;
    if (!done) {
        log(log_level::warning,
            "topic bus: cannot fetch what was retained: " + done.error().message());
        wanted_messages again = next;
        const bool is_wanted = is_too_large(done.error()) ? std::exchange(again.page, 1U) > 1
                                                          : may_be_asked_again(done.error());
        if (is_wanted) {
            want_retained(again.pattern, again.again, again.page);
            to_fetch_.pop_front();
            co_return fetched::later;
        }
    }
    to_fetch_.pop_front();
    co_return fetched::now;
}

task<std::expected<void, error>> bus_core::fetch_one(const wanted_messages* w) {
    if (websocket::detail::is_wild(w->pattern)) co_return co_await scan(w);
    const std::uint64_t since = receiver_->mark();
    auto asking = commands_.command("HGET", retained_key_, w->pattern);
    auto said = co_await as_result(asking);
    if (!said) co_return std::unexpected(std::move(said).error());
    // A message that was retained meanwhile is in this reply, and also on its way by itself: that
    // one must come first, or it would be delivered twice. When the connection is lost, all is
    // fetched again.
    auto catching_up = catch_up();
    const bool is_up = co_await std::move(catching_up);
    if (is_up) restore(*w, w->pattern, said->text(), since);
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> bus_core::scan(const wanted_messages* w) {
    const std::string glob = glob_of(w->pattern);
    std::string cursor = "0";
    do {
        const std::uint64_t since = receiver_->mark();
        auto asking = commands_.command("HSCAN", retained_key_, cursor, "MATCH", glob, "COUNT",
                                        std::to_string(w->page));
        auto said = co_await as_result(asking);
        if (!said) co_return std::unexpected(std::move(said).error());
        const auto parts = said->elements();
        if (parts.size() != 2) break;
        cursor = parts[0].text();
        auto catching_up = catch_up();
        const bool is_up = co_await std::move(catching_up);
        if (!is_up) break;
        const auto pairs = parts[1].elements();
        for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
            restore(*w, pairs[i].text(), pairs[i + 1].text(), since);
        }
    } while (cursor != "0");
    co_return std::expected<void, error>();
}

void bus_core::restore(const wanted_messages& w, std::string_view topic, std::string_view encoded,
                       std::uint64_t since) {
    const auto m = bus_message::parse(encoded);
    if (!m || !websocket::topic_matches(w.pattern, topic)) return;
    add(restored_);
    std::string_view pattern = w.pattern;
    if (w.again) pattern = {};
    // A message of this process is no news to it: the one that it has now came later, and may not
    // have reached Redis.
    if (m->from == self_) since = 0;
    receiver_->restore(pattern, topic, m->type, m->payload, since);
}

}  // namespace coracle::redis::detail
