#include "testing/own_thread.hpp"
#include "testing/signed_for_tests.hpp"
#include "testing/sink_session.hpp"

#include <coracle/net/serve.hpp>
#include <coracle/runtime/cancel_source.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <optional>
#include <stdexcept>
#include <utility>

namespace coracle::testing {
namespace {

net::listener listen(loop& on, const std::string& text) {
    auto at = net::address::parse(text);
    if (!at) throw_exception(std::move(at).error());
    auto opened = net::listener::open(on, *at);
    if (!opened) throw_exception(std::move(opened).error());
    return std::move(*opened);
}

}  // namespace

struct smtp_sink::core {
    explicit core(options o) : settings(std::move(o)), store(settings) {
        if (settings.self_signed) authorities = detail::sign_for_tests(settings.tls);
    }

    void open(coracle::loop& on) {
        listener.emplace(listen(on, settings.listen));
        local = listener->local();
    }

    task<> serve() {
        auto all = [this]() -> task<> {
            auto handler = [this](std::unique_ptr<net::socket> s) -> task<> {
                return handle(std::move(s));
            };
            net::serve_options o;
            o.connections = settings.connections;
            o.drain = duration::zero();
            auto serving = net::serve(*listener, std::move(handler), o);
            static_cast<void>(co_await as_result(serving));
        };
        const at_end end(*this);
        co_await as_result(with_cancel(stopping, all));
    }

    task<> handle(std::unique_ptr<net::socket> s) {
        detail::sink_session session(settings, store, store.connected(), std::move(s));
        auto running = session.run();
        co_await std::move(running);
    }

    /// Says that it serves no more, also where that ends for want of memory.
    struct at_end {
        explicit at_end(core& c) noexcept : of(c) {}
        at_end(const at_end&) = delete;
        at_end& operator=(const at_end&) = delete;
        ~at_end() {
            of.listener.reset();
            if (!of.thread) of.ended.set();
        }
        core& of;
    };

    options settings;
    detail::sink_store store;
    std::string authorities;
    std::optional<detail::own_thread> thread;  // its loop outlives what is on it
    std::optional<net::listener> listener;
    net::address local;
    cancel_source stopping;
    event ended;
};

smtp_sink::smtp_sink(options o) : core_(std::make_shared<core>(std::move(o))) {
    detail::own_thread& thread = core_->thread.emplace();
    core_->open(thread.runtime().at(0));
    thread.start([c = core_.get()](loop&) { return c->serve(); });
}

smtp_sink::smtp_sink(loop& on, options o) : core_(std::make_shared<core>(std::move(o))) {
    core_->open(on);
    spawn_on(on, [c = core_] { return c->serve(); }, "smtp_sink");
}

smtp_sink::~smtp_sink() {
    stop();
}

void smtp_sink::stop() {
    core_->stopping.cancel();
    if (core_->thread) core_->thread->join();
}

task<> smtp_sink::stopped() {
    const std::shared_ptr<core> kept = core_;
    co_await kept->ended.wait();
}

const net::address& smtp_sink::address() const noexcept {
    return core_->local;
}

std::string smtp_sink::url() const {
    const options& o = core_->settings;
    const bool secure = o.tls != nullptr && o.tls_from_start;
    return (o.lmtp ? "lmtp://" : secure ? "smtps://" : "smtp://") + address().to_string();
}

const std::string& smtp_sink::authorities() const noexcept {
    return core_->authorities;
}

std::size_t smtp_sink::count() const {
    return core_->store.count();
}
std::vector<sink_message> smtp_sink::messages() const {
    return core_->store.all();
}
sink_message smtp_sink::message(std::size_t number) const {
    auto found = core_->store.find(number);
    if (!found) throw std::out_of_range("smtp_sink::message");
    return *std::move(found);
}
void smtp_sink::remove(std::size_t number) {
    core_->store.remove(number);
}
void smtp_sink::clear() {
    core_->store.clear();
}
std::size_t smtp_sink::connections() const {
    return core_->store.connections();
}
std::vector<std::string> smtp_sink::dialogue() const {
    return core_->store.dialogue();
}
bool smtp_sink::wait_for(std::size_t count, duration limit) const {
    return core_->store.wait_for(count, limit);
}
void smtp_sink::misbehave(sink_rule rule) {
    core_->store.add_rule(std::move(rule));
}
void smtp_sink::behave() {
    core_->store.clear_rules();
}
void smtp_sink::cut_after_received(std::size_t index, std::uint64_t bytes) {
    core_->store.set_cut(index, {bytes, UINT64_MAX});
}
void smtp_sink::cut_after_sent(std::size_t index, std::uint64_t bytes) {
    core_->store.set_cut(index, {UINT64_MAX, bytes});
}

}  // namespace coracle::testing
