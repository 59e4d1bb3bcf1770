#include "http/client/shard.hpp"

#include "http/client/core.hpp"

namespace coracle::http::detail {
namespace {

void add_h2(client_h2_statistics& s, const pool_counters& p) noexcept {
    const auto of = [&p](h2::limit_kind kind) {
        return std::uint64_t{p.h2_limits[static_cast<std::size_t>(kind)]};
    };
    s.connections += p.h2_connections;
    s.coalesced += p.coalesced;
    s.goaways += p.goaways;
    s.silent += p.silent;
    s.head += of(h2::limit_kind::head);
    s.continuations += of(h2::limit_kind::continuations);
    s.resets += of(h2::limit_kind::resets);
    s.pings += of(h2::limit_kind::pings);
    s.settings += of(h2::limit_kind::settings);
    s.idle_frames += of(h2::limit_kind::idle_frames);
    s.empty_data += of(h2::limit_kind::empty_data);
    s.small_data += of(h2::limit_kind::small_data);
    s.queued_control += of(h2::limit_kind::queued_control);
    s.interim_responses += of(h2::limit_kind::interim_responses);
}

}  // namespace

client_shard::client_shard(client_core& core, loop& owner)
    : resident(&core), core_(&core), pool_(owner, core.pool()), observers_(core.observers()) {
    names_.emplace(owner, core.pool().resolver);
}

client_shard::~client_shard() = default;

const std::shared_ptr<const prepared_options>& client_shard::options() {
    if (generation_ != core_->generation()) {
        generation_ = core_->generation();
        options_ = core_->prepared();
    }
    return options_;
}

std::expected<url, error> client_shard::read_url(const std::string& address) {
    if (last_address_ != address || last_url_.empty()) {
        auto read = url::parse(address);
        // A URL with a password is not cached.
        if (!read || read->has_user()) return read;
        last_address_ = address;
        last_url_ = *std::move(read);
    }
    return last_url_;
}

void client_shard::add_to(client_statistics& s) const noexcept {
    s.calls += counts.calls;
    s.failed += counts.failed;
    s.retries += counts.retries;
    s.retries_held_back += counts.retries_held_back;
    s.redirects += counts.redirects;
    const pool_counters& p = pool_.counters();
    s.opened += p.opened;
    s.reused += p.reused;
    s.connections += p.open;
    s.idle += p.idle;
    s.waiting += p.waiting;
    add_h2(s.h2, p);
}

void client_shard::retire() noexcept {
    core_->forget(*this);
    // Another client may later have the same address. The loop keeps this shard, to notify it of
    // its end.
    disown();
    retired_ = true;
    pool_.retire();
    if (holders_ == 0) delete this;
}

void client_shard::loop_ended() noexcept {
    pool_.abandon();
    names_.reset();
    if (!retired_) core_->forget(*this);
    retired_ = true;
    if (holders_ == 0) delete this;
}

}  // namespace coracle::http::detail
