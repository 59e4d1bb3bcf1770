#include "testing/own_thread.hpp"
#include "testing/signed_for_tests.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/testing/local_server.hpp>

#include <optional>
#include <utility>

namespace coracle::testing {
local_server_options::local_server_options() {
    listen = "127.0.0.1:0";
    loops = 1;
    timeouts.drain = duration::zero();
}

struct local_server::core {
    core(http::handler h, local_server_options o)
        : loops(o.loops == 0 ? 1 : o.loops),
          authorities(o.self_signed ? detail::sign_for_tests(o.tls) : std::string()),
          server(std::move(h), std::move(o)) {}

    task<> serve(coracle::loop& on) {
        const at_end end(*this);
        static_cast<void>(co_await as_result(server.run(on)));
    }

    /// Says that it serves no more, also where that ends for want of memory.
    struct at_end {
        explicit at_end(core& c) noexcept : of(c) {}
        at_end(const at_end&) = delete;
        at_end& operator=(const at_end&) = delete;
        ~at_end() {
            if (!of.thread) of.ended.set();
        }
        core& of;
    };

    unsigned loops;
    std::string authorities;
    std::optional<detail::own_thread> thread;  // its loop outlives the server
    http::server server;
    coracle::loop* loop = nullptr;  ///< of someone else
    event ended;
    bool stopping = false;
};

local_server::local_server(http::handler h, options o)
    : core_(std::make_shared<core>(std::move(h), std::move(o))) {
    detail::own_thread& thread = core_->thread.emplace(core_->loops);
    core_->server.open(thread.runtime());
    thread.start([c = core_.get()](loop& on) { return c->serve(on); });
}

local_server::local_server(loop& on, http::handler h, options o)
    : core_(std::make_shared<core>(std::move(h), std::move(o))) {
    core_->loop = &on;
    core_->server.open(on);
    spawn_on(on, [c = core_, &on] { return c->serve(on); }, "local_server");
}

local_server::~local_server() {
    stop();
}

void local_server::stop() {
    if (std::exchange(core_->stopping, true)) return;
    core_->server.stop();
    if (core_->thread) {
        core_->thread->join();
    } else {
        // The server has posted what refers to it: it must live until that has had its turn.
        core_->loop->post([c = core_] {});
    }
}

task<> local_server::stopped() {
    const std::shared_ptr<core> kept = core_;
    co_await kept->ended.wait();
}

std::string local_server::url(std::string_view target, std::size_t which) const {
    return core_->server.urls().at(which).append(target);
}

const std::vector<net::address>& local_server::addresses() const noexcept {
    return core_->server.addresses();
}

const std::string& local_server::authorities() const noexcept {
    return core_->authorities;
}

tls::client_options local_server::client_tls() const {
    return detail::trusting(core_->authorities);
}

http::server_counters local_server::counters() const noexcept {
    return core_->server.counters();
}

}  // namespace coracle::testing
