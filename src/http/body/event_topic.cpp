#include "base/whole_number.hpp"

#include <coracle/http/events.hpp>
#include <coracle/runtime/broadcast.hpp>

#include <deque>
#include <mutex>

namespace coracle::http {
namespace {

/// Formatted once for all clients.
struct published_event {
    std::uint64_t id = 0;
    std::string text;
};
using published = std::shared_ptr<const published_event>;

}  // namespace

struct event_topic::state {
    state(std::size_t n, std::uint64_t first)
        : history(n), next_id(first), live(n == 0 ? default_history : n, slow_reader::disconnect) {}

    struct subscription {
        std::deque<published> missed;
        broadcast_reader<published> reader;
    };

    // Under one lock: nothing is published between what was missed and what is new.
    subscription subscribe(std::string_view last_id) {
        const std::lock_guard guard(lock);
        return {last_id.empty() ? position() : kept_since(last_id), live.subscribe()};
    }

    /// The id of the last event alone, for a client that gets none before its connection is cut.
    std::deque<published> position() const {
        if (next_id == 0) return {};
        const std::string id = std::to_string(next_id - 1);
        auto e = std::make_shared<published_event>();
        static_cast<void>(append_event(e->text, {.id = id}));
        return {std::move(e)};
    }

    std::deque<published> kept_since(std::string_view last_id) const {
        const auto id = coracle::detail::whole_number<std::uint64_t>(last_id);
        const bool known = id && !kept.empty() && *id >= kept.front()->id && *id < next_id;
        if (!known) return kept;
        const auto after = static_cast<std::ptrdiff_t>(*id - kept.front()->id + 1);
        return {kept.begin() + after, kept.end()};
    }

    mutable std::mutex lock;
    std::size_t history;
    std::uint64_t next_id;
    std::deque<published> kept;
    broadcast<published> live;
};

event_topic::event_topic(std::size_t history, std::uint64_t first_id)
    : state_(std::make_shared<state>(history, first_id)) {}

std::uint64_t event_topic::publish(std::string_view data, std::string_view event) {
    auto e = std::make_shared<published_event>();
    const std::lock_guard guard(state_->lock);
    e->id = state_->next_id;
    const std::string id = std::to_string(e->id);
    if (!append_event(e->text, {.id = id, .event = event, .data = data})) {
        throw_exception(error(std::errc::invalid_argument, "event_topic"));
    }
    state_->kept.push_back(e);
    ++state_->next_id;
    if (state_->kept.size() > state_->history) state_->kept.pop_front();
    static_cast<void>(state_->live.try_send(published(e)));
    return e->id;
}

task<std::expected<void, error>> event_topic::forward(std::shared_ptr<state> from,
                                                      event_sink* out) {
    state::subscription own = from->subscribe(out->last_event_id());
    while (!own.missed.empty()) {
        auto sent = co_await event_sink::write(out, own.missed.front()->text);
        if (!sent) co_return sent;
        own.missed.pop_front();
    }
    for (;;) {
        auto next = co_await as_result(own.reader.receive());
        if (!next) co_return std::unexpected(std::move(next).error());
        if (!*next) co_return std::expected<void, error>();
        auto sent = co_await event_sink::write(out, (**next)->text);
        if (!sent) co_return sent;
    }
}

operation<void> event_topic::send_to(event_sink& out) {
    return forward(state_, &out);
}

void event_topic::close() {
    const std::lock_guard guard(state_->lock);
    state_->live.close();
}

std::size_t event_topic::readers() const noexcept {
    return state_->live.readers();
}

}  // namespace coracle::http
