#include "http/server/shard.hpp"

#include <coracle/http/server.hpp>

#include <algorithm>

namespace coracle::http {
namespace {

std::vector<net::address> parse_addresses(std::string_view list) {
    std::vector<net::address> all;
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        auto a = net::address::parse(list.substr(0, comma));
        if (!a) throw_exception(std::move(a).error());
        all.push_back(std::move(*a));
        list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    }
    return all;
}

}  // namespace

struct server::core {
    core(handler h, server_options o) : target(std::move(h)), options(std::move(o)) {}

    detail::shard& open(loop& on, bool shared) {
        auto& s = *shards.emplace_back(std::make_unique<detail::shard>(on, target, options));
        // The first loop finds the ports, the others join them.
        const auto wanted = addresses.empty() ? parse_addresses(options.listen) : addresses;
        for (std::size_t i = 0; i != wanted.size(); ++i) {
            // Unix sockets have no SO_REUSEPORT.
            const bool joins = !addresses.empty() && wanted[i].family() == net::family::unix_path;
            if (joins)
                s.share(shards.front()->listeners()[i]);
            else
                s.open(wanted[i], shared);
        }
        if (addresses.empty()) {
            for (const auto& l : s.listeners()) addresses.push_back(l.local());
        }
        return s;
    }

    handler target;
    server_options options;
    std::vector<net::address> addresses;
    std::vector<std::unique_ptr<detail::shard>> shards;
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

operation<void> server::run(loop& on) {
    for (auto& s : core_->shards) {
        if (&s->owner() == &on) return s->run();
    }
    return std::expected<void, error>(
        std::unexpected(error(std::errc::not_connected, "http::server::run")));
}

void server::stop() {
    for (auto& s : core_->shards) s->owner().post([shard = s.get()] { shard->drain(); });
}

server_counters server::counters() const noexcept {
    server_counters sum;
    for (const auto& s : core_->shards) s->counters().add_to(sum);
    return sum;
}

}  // namespace coracle::http
