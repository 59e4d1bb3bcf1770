#include "http/client/shard.hpp"

#include "http/client/core.hpp"

namespace coracle::http::detail {

client_shard::client_shard(client_core& core, loop& owner)
    : resident(&core), core_(&core), pool_(owner, core.pool()) {
    names_.emplace(owner);
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
        // A password is not kept.
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
    s.redirects += counts.redirects;
    const pool_counters& p = pool_.counters();
    s.opened += p.opened;
    s.reused += p.reused;
    s.connections += p.open;
    s.idle += p.idle;
    s.waiting += p.waiting;
}

void client_shard::retire() noexcept {
    core_->forget(*this);
    // The client goes, and another may come to stand at its address. The loop keeps this one, to
    // tell it of its end.
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
