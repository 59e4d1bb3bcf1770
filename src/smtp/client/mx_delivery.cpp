#include "smtp/client/mx_delivery.hpp"

#include "base/ascii.hpp"
#include "smtp/client/failures.hpp"
#include "smtp/message_state.hpp"

#include <coracle/mime/address.hpp>
#include <coracle/runtime/task_group.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace coracle::smtp::detail {
namespace {

/// The domain of an address: lower case, A-labels.
std::string domain_of(const std::string& address) {
    const std::string ascii = mime::ascii_domain(address).value_or(address);
    return coracle::detail::lower(ascii.substr(ascii.rfind('@') + 1));
}

bool ended_well(const domain_part& p) noexcept {
    return p.outcome && p.outcome->has_value();
}

/// Returns whether nobody in the domain has the mail, and the domain may take it later.
bool may_come_again(const domain_part& p) noexcept {
    if (!p.outcome) return !p.progress.maybe_sent;
    return !p.outcome->has_value() && p.outcome->error().safe_to_retry();
}

/// The results of a domain that did not take the mail.
void add_failed(const domain_part& p, std::map<std::string, recipient_result>& all) {
    const failure* const f = p.outcome ? failure_of(p.outcome->error()) : nullptr;
    for (const std::string& address : p.recipients) {
        recipient_result& r = all[address];
        const auto so_far =
            std::ranges::find(p.progress.recipients, address, &recipient_result::address);
        if (so_far != p.progress.recipients.end()) r = *so_far;
        r.address = address;
        if (r.accepted || r.reply.code != 0 || r.problem) continue;
        if (p.outcome) r.problem = p.outcome->error();
        // A cancellation does not say so.
        if (p.progress.maybe_sent) r.problem = error(make_error_code(errc::uncertain), "smtp");
        if (f == nullptr) continue;
        const auto known = std::ranges::find(f->recipients(), address, &recipient_result::address);
        // That RCPT was accepted counts no more.
        const bool is_known = known != f->recipients().end() && !known->reply.positive();
        if (is_known) r.reply = known->reply;
    }
}

}  // namespace

mx_delivery::mx_delivery(client_core& core, client_shard& here, const message& m,
                         const client_options& o)
    : core_(core), here_(here), mail_(m), options_(o) {
    std::map<std::string, std::size_t> places;
    for (const std::string& address : mail_.recipients()) {
        const auto [place, is_new] = places.try_emplace(domain_of(address), parts_.size());
        if (is_new) parts_.push_back({place->first, mail_});
        parts_[place->second].recipients.push_back(address);
    }
    for (domain_part& p : parts_) {
        auto& envelope = p.mail.own_state().of(address_field::envelope);
        envelope.clear();
        for (const std::string& address : p.recipients) {
            mime::address one;
            one.members.push_back({{}, address});
            envelope.push_back(std::move(one));
        }
    }
}

bool mx_delivery::maybe_sent() const noexcept {
    return std::ranges::any_of(
        parts_, [](const domain_part& p) { return p.progress.maybe_sent || ended_well(p); });
}

void mx_delivery::tell_recipients(error& e) const {
    e.with(std::make_shared<failure>(std::string(), reply(), results()));
}

task<> mx_delivery::deliver(domain_part* part) {
    domain_delivery one(core_, here_, options_, *part);
    auto running = one.run();
    part->outcome = co_await std::move(running);
}

task<std::expected<receipt, error>> mx_delivery::run() {
    auto all = [this](task_group& g) -> task<> {
        for (domain_part& p : parts_) {
            auto one = [this, part = &p] { return deliver(part); };
            co_await g.spawn_when_free(one);
        }
    };
    auto group = with_task_group(std::max(1U, options_.mx_domains), all);
    auto ended = co_await as_result(group);
    if (ended) co_return merged();
    const error& why = ended.error();
    const bool told = coracle::detail::is_cancellation(why) && maybe_sent();
    co_return std::unexpected(told ? uncertain_cancellation(why, results()) : why);
}

std::vector<recipient_result> mx_delivery::results() const {
    std::map<std::string, recipient_result> all;
    for (const domain_part& p : parts_) {
        if (!ended_well(p)) {
            add_failed(p, all);
            continue;
        }
        for (const recipient_result& r : (*p.outcome)->recipients) all[r.address] = r;
    }
    std::vector<recipient_result> sorted;
    for (const std::string& address : mail_.recipients()) sorted.push_back(all[address]);
    return sorted;
}

/// Several domains have failed, or some of several.
error mx_delivery::merged_failure() const {
    const auto uncertain = std::ranges::find_if(parts_, [](const domain_part& p) {
        return !ended_well(p) && p.outcome->error().code() == make_error_code(errc::uncertain);
    });
    const auto refused =
        uncertain != parts_.end() ? uncertain : std::ranges::find_if_not(parts_, ended_well);
    const error& cause = refused->outcome->error();
    const failure* const f = failure_of(cause);
    const errc why = uncertain != parts_.end() ? errc::uncertain : errc::recipients_rejected;
    // A recipient that has it would have it twice if all of it were sent again.
    const bool safe = std::ranges::all_of(parts_, may_come_again);
    error e = reply_error(why, cause.subject(), {}, safe);
    std::string command = f != nullptr ? f->command() : std::string();
    e.with(std::make_shared<failure>(std::move(command), f != nullptr ? f->reply() : reply(),
                                     results()));
    return e;
}

std::expected<receipt, error> mx_delivery::merged() const {
    if (parts_.size() == 1) return *parts_.front().outcome;
    const bool all = std::ranges::all_of(parts_, ended_well);
    const bool any = std::ranges::any_of(parts_, ended_well);
    if (!any || (!all && !options_.rcpt_allow_fails)) return std::unexpected(merged_failure());
    receipt r;
    r.secure = true;
    for (const domain_part& p : parts_) {
        if (!ended_well(p)) continue;
        const receipt& one = **p.outcome;
        r.reply = one.reply;
        r.server = one.server;
        r.secure = r.secure && one.secure;
        r.reused = r.reused || one.reused;
        r.attempts = std::max(r.attempts, one.attempts);
    }
    r.recipients = results();
    return r;
}

}  // namespace coracle::smtp::detail
