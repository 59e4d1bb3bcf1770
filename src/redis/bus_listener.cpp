// The connection of a topic bus for its subscriptions.

#include "redis/bus_core.hpp"

#include <coracle/redis/error.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/websocket/topics.hpp>

#include <new>
#include <utility>

namespace coracle::redis::detail {
namespace {

using coracle::detail::is_cancellation;

/// Returns true for "NOPERM User app has no permissions to run the 'ping' command".
bool refuses_ping(const reply& r) {
    return code_of_reply(r.text()) == errc::no_permission &&
           r.text().find("'ping'") != std::string_view::npos;
}

}  // namespace

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

}  // namespace coracle::redis::detail
