#include "http/h2/limits.hpp"
#include "http/message/token.hpp"
#include "http/server/endpoints.hpp"
#include "http/server/shard.hpp"
#include "runtime/century.hpp"

#include <coracle/http/server.hpp>

#include <algorithm>
#include <mutex>

namespace coracle::http {
namespace {

/// Returns the names of the protocols for ALPN, the preferred one first.
std::vector<std::string> protocols(http_versions spoken) {
    switch (spoken) {
        case http_versions::http1: return {"http/1.1"};
        case http_versions::http2: return {"h2"};
        default: return {"h2", "http/1.1"};
    }
}

void bound(server_timeouts& t) noexcept {
    for (duration* const each :
         {&t.head, &t.body, &t.write, &t.write_window, &t.half_closed, &t.idle, &t.idle_at_limit,
          &t.lifetime, &t.linger, &t.linger_silence, &t.drain, &t.drain_idle, &t.last_accept,
          &t.body_grace}) {
        *each = std::clamp(*each, duration::zero(), coracle::detail::century);
    }
}

}  // namespace

struct server::core {
    core(handler h, server_options o) : target(std::move(h)), options(std::move(o)) {
        if (!is_field_value(options.server_name)) {
            throw_exception(error(std::errc::invalid_argument, "server_name"));
        }
        bound(options.timeouts);
        options.limits.h2 = h2::within_protocol(options.limits.h2);
        if (options.tls) options.tls->offer(protocols(options.versions));
        const std::uint32_t of_each = options.limits.connections_per_client;
        if (of_each != 0) clients = std::make_unique<detail::client_table>(of_each);
    }

    /// Calls `f`, which opens loops; where that fails, all is as it was before. Sockets that were
    /// inherited are closed then.
    template <class F>
    void open_all(F f) {
        const std::lock_guard guard(lock);
        const std::size_t loops = shards.size();
        const std::size_t places = addresses.size();
        try {
            f();
        } catch (...) {
            shards.resize(loops);
            addresses.resize(places);
            secure.resize(places);
            // Ports that the system has chosen are chosen anew.
            if (loops == 0) is_found = false;
            throw;
        }
    }

    /// `first` of `step` loops takes each `step`-th socket of an endpoint. Under the lock.
    void open(loop& on, detail::shard::sharing with, std::size_t first = 0, std::size_t step = 1) {
        if (!is_found) {
            endpoints = detail::find_endpoints(options.listen, options.tls != nullptr, inherited);
            inherited.clear();
            is_found = true;
        }
        const auto made = std::make_shared<detail::shard>(on, target, options, clients.get());
        shards.push_back(made);
        detail::shard& s = *made;
        // A stop that came before is remembered.
        if (at_stop) s.drain();
        for (detail::endpoint_wanted& e : endpoints) {
            const std::size_t before = s.listeners().size();
            if (e.is_given())
                adopt(s, e, first, step);
            else
                open(s, e, with);
            // The first loop finds the ports, the others join them.
            if (shards.size() != 1) continue;
            e.at = s.listeners()[before].listener.local();
            addresses.push_back(e.at);
            secure.push_back(e.secure);
        }
    }

    void open(detail::shard& s, const detail::endpoint_wanted& e, detail::shard::sharing with) {
        // Unix sockets have no SO_REUSEPORT.
        const bool joins = shards.size() != 1 && e.at.family() == net::family::unix_path;
        if (joins)
            s.share(listener_at(e.at), e.secure);
        else
            s.open(e.at, with, e.secure);
    }

    /// The sockets of another process; loops that it has too few for share one of them.
    void adopt(detail::shard& s, detail::endpoint_wanted& e, std::size_t first, std::size_t step) {
        if (first >= e.given.size() || !e.given[first]) {
            s.share(listener_at(e.at), e.secure, true);
            return;
        }
        for (std::size_t i = first; i < e.given.size(); i += step) {
            s.adopt(std::move(e.given[i]), e.secure);
        }
    }

    const net::listener& listener_at(const net::address& at) const {
        const auto& all = shards.front()->listeners();
        return std::ranges::find_if(all, [&](const auto& l) { return l.listener.local() == at; })
            ->listener;
    }

    void stop(bool handed_over) {
        const std::lock_guard guard(lock);
        if (!at_stop) at_stop = sum_of_counters();
        for (auto& s : shards) {
            if (handed_over) s->hand_over();
            s->stop(s);
        }
    }

    /// Under the lock.
    server_counters sum_of_counters() const noexcept {
        server_counters sum;
        for (const auto& s : shards) s->counters().add_to(sum);
        return sum;
    }

    std::expected<std::vector<net::inherited_socket>, error> share_listeners() {
        const std::lock_guard guard(lock);
        if (at_stop) return std::unexpected(error(errc::shutting_down, "share_listeners"));
        std::vector<net::inherited_socket> all;
        for (const auto& s : shards) {
            for (const auto& l : s->listeners()) {
                const net::address& at = l.listener.local();
                auto fd = l.listener.duplicate();
                if (!fd) return std::unexpected(std::move(fd).error());
                const auto of = std::ranges::find(endpoints, at, &detail::endpoint_wanted::at);
                all.push_back({std::move(*fd), of->text, at});
            }
        }
        // Before the other process has them: it may be stopped at any moment.
        for (const auto& s : shards) s->hand_over();
        return all;
    }

    handler target;
    server_options options;
    std::unique_ptr<detail::client_table> clients;  ///< where they are limited
    std::vector<net::address> addresses;
    std::vector<bool> secure;
    std::vector<detail::endpoint_wanted> endpoints;
    bool is_found = false;
    std::vector<net::inherited_socket> inherited;
    std::vector<std::shared_ptr<detail::shard>> shards;
    std::mutex lock;
    std::optional<server_counters> at_stop;
};

server::server(handler h, server_options options)
    : core_(std::make_unique<core>(std::move(h), std::move(options))) {}

server::~server() = default;

void server::open(loop& on) {
    core_->open_all([&] { core_->open(on, detail::shard::sharing::none); });
}

void server::open(runtime& on) {
    using detail::shard;
    const bool several = on.loops() > 1;
    core_->open_all([&] {
        for (std::size_t i = 0; i != on.loops(); ++i) {
            const auto others = i == 0 ? shard::sharing::claims : shard::sharing::joins;
            core_->open(on.at(i), several ? others : shard::sharing::none, i, on.loops());
        }
    });
}

void server::inherit(std::vector<net::inherited_socket> sockets) {
    for (net::inherited_socket& s : sockets) core_->inherited.push_back(std::move(s));
}

const std::vector<net::address>& server::addresses() const noexcept {
    return core_->addresses;
}

std::vector<std::string> server::urls() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i != core_->addresses.size(); ++i) {
        const net::address& a = core_->addresses[i];
        const bool is_path = a.family() == net::family::unix_path;
        const char* const scheme = is_path ? "" : core_->secure[i] ? "https://" : "http://";
        all.push_back(scheme + a.to_string());
    }
    return all;
}

operation<void> server::run(loop& on) {
    for (auto& s : core_->shards) {
        if (&s->owner() == &on) return s->run(core_->shards.size());
    }
    return std::expected<void, error>(
        std::unexpected(error(std::errc::not_connected, "http::server::run")));
}

void server::stop() {
    core_->stop(false);
}

void server::stop_handed_over() {
    core_->stop(true);
}

std::expected<std::vector<net::inherited_socket>, error> server::share_listeners() const {
    return core_->share_listeners();
}

server_counters server::counters() const noexcept {
    const std::lock_guard guard(core_->lock);
    return core_->sum_of_counters();
}

std::optional<drain_report> server::drained() const {
    // Before the sum, or `at_stop` could be of later.
    const std::lock_guard guard(core_->lock);
    if (!core_->at_stop) return std::nullopt;
    const server_counters now = core_->sum_of_counters();
    const server_counters& then = *core_->at_stop;
    drain_report r;
    r.open = then.open;
    r.in_flight = then.in_flight;
    r.told = now.told_of_drain - then.told_of_drain;
    r.accepted = now.accepted_in_drain;
    r.served = now.requests - then.requests;
    r.cut = now.cut_by_drain - then.cut_by_drain;
    for (const auto& s : core_->shards) r.took = std::max(r.took, s->drained_for());
    return r;
}

}  // namespace coracle::http
