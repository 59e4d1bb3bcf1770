#include "base/ascii.hpp"
#include "http/message/token.hpp"
#include "http/server/shard.hpp"

#include <coracle/http/server.hpp>

#include <algorithm>

namespace coracle::http {
namespace {

struct endpoint_wanted {
    net::address at;
    bool secure;
};

/// "https://" and "http://" in front of an address, and without either whether there is TLS.
bool take_scheme(std::string_view& text, bool otherwise) noexcept {
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (!text.starts_with(scheme)) continue;
        text.remove_prefix(scheme.size());
        return scheme == "https://";
    }
    return otherwise;
}

std::vector<endpoint_wanted> parse_addresses(std::string_view list, bool has_tls) {
    std::vector<endpoint_wanted> all;
    while (!list.empty()) {
        std::string_view one = coracle::detail::take_item(list);
        const bool secure = take_scheme(one, has_tls);
        auto a = net::address::parse(one);
        if (!a) throw_exception(std::move(a).error());
        if (secure && !has_tls) {
            throw_exception(error(std::errc::invalid_argument, "listen")
                                .on("https://" + std::string(one) + " without certificates (tls)"));
        }
        all.push_back({std::move(*a), secure});
    }
    return all;
}

}  // namespace

struct server::core {
    core(handler h, server_options o) : target(std::move(h)), options(std::move(o)) {
        if (!is_field_value(options.server_name)) {
            throw_exception(error(std::errc::invalid_argument, "server_name"));
        }
        if (options.tls) options.tls->offer({"http/1.1"});
    }

    detail::shard& open(loop& on, bool shared) {
        auto& s = *shards.emplace_back(std::make_shared<detail::shard>(on, target, options));
        // The first loop finds the ports, the others join them.
        auto wanted = parse_addresses(options.listen, options.tls != nullptr);
        for (std::size_t i = 0; i != wanted.size(); ++i) {
            if (!addresses.empty()) wanted[i].at = addresses[i];
            // Unix sockets have no SO_REUSEPORT.
            const bool joins =
                !addresses.empty() && wanted[i].at.family() == net::family::unix_path;
            if (joins)
                s.share(shards.front()->entrances()[i].listener, wanted[i].secure);
            else
                s.open(wanted[i].at, shared, wanted[i].secure);
        }
        if (addresses.empty()) {
            for (const auto& e : s.entrances()) addresses.push_back(e.listener.local());
            for (const auto& w : wanted) secure.push_back(w.secure);
        }
        return s;
    }

    handler target;
    server_options options;
    std::vector<net::address> addresses;
    std::vector<bool> secure;
    std::vector<std::shared_ptr<detail::shard>> shards;
};

server::server(handler h, server_options options)
    : core_(std::make_unique<core>(std::move(h), std::move(options))) {}

server::~server() = default;

void server::open(loop& on) {
    core_->open(on, false);
}

void server::open(runtime& on) {
    const bool shared = on.loops() > 1;
    for (std::size_t i = 0; i != on.loops(); ++i) core_->open(on.at(i), shared);
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
        if (&s->owner() == &on) return s->run();
    }
    return std::expected<void, error>(
        std::unexpected(error(std::errc::not_connected, "http::server::run")));
}

void server::stop() {
    for (auto& s : core_->shards) {
        // The server may be gone before the loop takes its next turn.
        s->owner().post([shard = std::weak_ptr(s)] {
            if (const auto there = shard.lock()) there->drain();
        });
    }
}

server_counters server::counters() const noexcept {
    server_counters sum;
    for (const auto& s : core_->shards) s->counters().add_to(sum);
    return sum;
}

}  // namespace coracle::http
