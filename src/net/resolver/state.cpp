#include "net/resolver/state.hpp"

#include "net/resolver/lookup.hpp"
#include "net/resolver/name.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace coracle::net::detail {
namespace {

/// The port changes after this many queries to a server: an attacker who wants to inject a response
/// must guess it anew (RFC 5452 section 4.5).
constexpr std::size_t questions_from_one_port = 100;

/// As names are compared; those that are no names are left out, as in resolv.conf.
std::vector<std::string> canonical_names(const std::vector<std::string>& given) {
    std::vector<std::string> all;
    for (const std::string& one : given) {
        bool absolute = false;
        if (auto name = canonical_name(one, absolute)) all.push_back(*std::move(name));
    }
    return all;
}

}  // namespace

resolver_state::resolver_state(loop& owner, resolver_options o)
    : owner_(&owner), options_(std::move(o)), cache_(options_.cache), hosts_file_(options_.hosts),
      configuration_file_(options_.configuration),
      permits_left_(options_.questions == 0 ? 1 : options_.questions) {}

bool resolver_state::join(ticket& t, const std::string& host, record_kind wanted) {
    ++counters_.asked;
    if (!backend_knows_names_) refresh();
    const std::string key = question_key(host, wanted);
    if (const verdict* known = cache_.find(key, owner_->now())) {
        ++counters_.hits;
        t.response = *known;
        return true;
    }
    if (const auto found = under_way_.find(key); found != under_way_.end()) {
        ++counters_.shared;
        found->second->add(t);
        return false;
    }
    auto made = std::make_unique<lookup>(shared_from_this(), host, wanted, key);
    task<> work = made->find();
    under_way_.emplace(key, made.get());
    lookup* const l = made.release();
    l->add(t);
    l->start(std::move(work));
    return false;
}

void resolver_state::leave(ticket& t) noexcept {
    lookup* l = std::exchange(t.in, nullptr);
    if (l == nullptr) return;
    t.unlink();
    if (!l->deserted()) return;
    under_way_.erase(l->key());
    l->give_up();
}

void resolver_state::ended(lookup& l, const std::string& key, const verdict& response,
                           duration holds) noexcept {
    if (const auto found = under_way_.find(key); found != under_way_.end() && found->second == &l) {
        under_way_.erase(found);
    }
    if (holds <= duration::zero()) return;
    try {
        cache_.keep(key, response, coracle::detail::later(owner_->now(), holds));
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the next one asks again
    }
}

void resolver_state::close() noexcept {
    const auto all = std::exchange(under_way_, {});
    for (const auto& [key, l] : all) {
        l->tell(std::unexpected(coracle::detail::stopped_error("resolve")));
        l->give_up();
    }
}

void resolver_state::refresh() {
    const time_point now = owner_->now();
    if (refreshed_ != time_point::min() && now - refreshed_ < options_.recheck) return;
    try {
        read_files();
    } catch (...) {
        hosts_file_.forget();
        configuration_file_.forget();
        throw;
    }
    refreshed_ = now;
}

void resolver_state::read_files() {
    if (hosts_file_.changed()) {
        if (const auto text = read(hosts_file_)) {
            hosts_ = read_hosts(*text);
            cache_.clear();
        }
    }
    if (configuration_file_.changed() || servers_.empty()) {
        // Without it the server of this machine is asked, until it can be read.
        const auto text = read(configuration_file_);
        if (text || servers_.empty()) {
            adopt(read_configuration(text.value_or("")));
            cache_.clear();
        }
    }
}

/// A file that cannot be read now is read again with the next look at it: until then what was known
/// counts.
std::optional<std::string> resolver_state::read(watched_file& file) {
    auto text = file.read();
    if (!text) file.forget();
    return text;
}

void resolver_state::adopt(name_configuration system) {
    search_ = std::move(system.search);
    if (!options_.search.empty()) search_ = canonical_names(options_.search);
    dots_ = options_.dots == 0 ? system.dots : options_.dots;
    std::vector<address> at =
        options_.servers.empty() ? std::move(system.servers) : options_.servers;
    // resolv.conf(5): without a line, the server of this machine.
    if (at.empty()) at.push_back(address::v4({127, 0, 0, 1}, 53));
    servers_.clear();
    for (const address& a : at) {
        servers_.push_back(std::make_shared<name_server>(*owner_, a, options_.timeout));
    }
}

const std::vector<address>* resolver_state::in_hosts(std::string_view host) const {
    const auto found = hosts_.find(host);
    return found == hosts_.end() ? nullptr : &found->second;
}

std::shared_ptr<name_server> resolver_state::server(std::size_t index) {
    auto& s = servers_[index];
    if (s->sent() >= std::min(questions_from_one_port, name_server::most_questions)) {
        s = std::make_shared<name_server>(*owner_, s->at(), options_.timeout);
    }
    ++counters_.questions;
    return s;
}

resolver_counters resolver_state::counters() const noexcept {
    resolver_counters c = counters_;
    c.cached = cache_.size();
    return c;
}

bool query_permit::start() noexcept {
    if (state_->permits_left_ == 0) {
        state_->queue_.push_back(*this);
        return false;
    }
    --state_->permits_left_;
    has_permit_ = true;
    return true;
}

void query_permit::cancel() noexcept {
    // A waiter that has a permit keeps it until it is destroyed.
    if (has_permit_) return;
    mark_cancelled();
    owner().enqueue(*this);
}

query_permit::~query_permit() {
    if (!has_permit_) return;
    auto* next = static_cast<query_permit*>(state_->queue_.pop_front());
    if (next == nullptr) {
        ++state_->permits_left_;
        return;
    }
    next->has_permit_ = true;
    state_->owner().enqueue(*next);
}

}  // namespace coracle::net::detail
