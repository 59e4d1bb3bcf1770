#include "testing/journal.hpp"
#include "testing/own_thread.hpp"
#include "testing/script_player.hpp"
#include "testing/signed_for_tests.hpp"

#include <coracle/net/listener.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <cassert>
#include <utility>

namespace coracle::testing {
namespace {

/// The pause between two tries to accept, when there are no descriptors.
constexpr duration breath = std::chrono::milliseconds(10);

net::listener listen(loop& on, const std::string& text) {
    auto at = net::address::parse(text);
    if (!at) throw_exception(std::move(at).error());
    auto opened = net::listener::open(on, *at);
    if (!opened) throw_exception(std::move(opened).error());
    return std::move(*opened);
}

}  // namespace

struct scripted_peer::core {
    core(std::vector<script> s, options o) : scripts(std::move(s)), settings(std::move(o)) {
        assert(!scripts.empty());
        if (settings.self_signed) authorities = detail::sign_for_tests(settings.tls);
    }

    void open(coracle::loop& on) {
        listener.emplace(listen(on, settings.listen));
        local = listener->local();
    }
    const script& script_of(std::size_t index) const {
        return scripts[std::min(index, scripts.size() - 1)];
    }

    task<> serve();
    task<> accept_all(task_group& connections);
    task<> play(std::size_t index, std::unique_ptr<net::socket> s);

    std::vector<script> scripts;
    options settings;
    std::string authorities;
    std::optional<detail::own_thread> thread;  // its loop outlives what is on it
    std::optional<net::listener> listener;
    net::address local;
    mutable detail::journal journal;
    cancel_source stopping;
};

task<> scripted_peer::core::serve() {
    auto all = [this]() -> task<> {
        auto accepting = [this](task_group& g) -> task<> { co_await accept_all(g); };
        co_await with_task_group(accepting);
    };
    co_await as_result(with_cancel(stopping, all));
    listener.reset();
}

task<> scripted_peer::core::accept_all(task_group& connections) {
    for (std::size_t index = 0; index != settings.connections;) {
        const script& next = script_of(index);
        co_await sleep_for(next.accept_delay());
        if (next.accept_gate()) co_await next.accept_gate()->passed();
        auto accepted = co_await as_result(listener->accept());
        if (!accepted) {
            co_await sleep_for(breath);
            continue;
        }
        const std::size_t number = journal.add();
        connections.spawn([this, number, s = std::move(*accepted)]() mutable {
            return play(number, std::move(s));
        });
        ++index;
    }
}

task<> scripted_peer::core::play(std::size_t index, std::unique_ptr<net::socket> s) {
    detail::script_player player(script_of(index), settings, journal, index, std::move(s));
    auto whole = [&player]() -> task<> { co_await player.play(); };
    const auto in_time = co_await as_result(with_timeout(settings.limit, whole));
    if (!in_time && in_time.error() == std::errc::timed_out) {
        player.fail("its script took longer than scripted_peer_options::limit");
    }
}

scripted_peer::scripted_peer(script s, options o)
    : scripted_peer(std::vector<script>{std::move(s)}, std::move(o)) {}

scripted_peer::scripted_peer(std::vector<script> scripts, options o)
    : core_(std::make_shared<core>(std::move(scripts), std::move(o))) {
    detail::own_thread& thread = core_->thread.emplace();
    core_->open(thread.runtime().at(0));
    thread.start([c = core_.get()](loop&) { return c->serve(); });
}

scripted_peer::scripted_peer(loop& on, script s, options o)
    : scripted_peer(on, std::vector<script>{std::move(s)}, std::move(o)) {}

scripted_peer::scripted_peer(loop& on, std::vector<script> scripts, options o)
    : core_(std::make_shared<core>(std::move(scripts), std::move(o))) {
    core_->open(on);
    spawn_on(on, [c = core_] { return c->serve(); }, "scripted_peer");
}

scripted_peer::~scripted_peer() {
    stop();
}

void scripted_peer::stop() {
    core_->stopping.cancel();
    if (core_->thread) core_->thread->join();
}

const net::address& scripted_peer::address() const noexcept {
    return core_->local;
}

std::string scripted_peer::url(std::string_view target) const {
    const std::string_view scheme = core_->settings.tls != nullptr ? "https://" : "http://";
    return std::string(scheme).append(address().to_string()).append(target);
}

const std::string& scripted_peer::authorities() const noexcept {
    return core_->authorities;
}

tls::client_options scripted_peer::client_tls() const {
    return detail::trusting(core_->authorities);
}

std::size_t scripted_peer::connections() const {
    return core_->journal.size();
}

connection_record scripted_peer::record(std::size_t index) const {
    return core_->journal.at(index);
}

bool scripted_peer::wait_until(unique_function<bool(const records&)> reached,
                               duration limit) const {
    return core_->journal.wait_until(std::move(reached), limit);
}

bool scripted_peer::wait_for_connections(std::size_t n, duration limit) const {
    return wait_until([n](const records& all) { return all.size() >= n; }, limit);
}

bool scripted_peer::wait_for_end(std::size_t index, duration limit) const {
    return wait_until(
        [index](const records& all) { return index < all.size() && all[index].closed; }, limit);
}

bool scripted_peer::wait_for_stall(std::size_t index, duration limit) const {
    return wait_until(
        [index](const records& all) { return index < all.size() && all[index].stalled; }, limit);
}

condition_wait scripted_peer::changed() const noexcept {
    return core_->journal.changed().wait();
}

}  // namespace coracle::testing
