#include "smtp/client/domain_delivery.hpp"

#include "smtp/client/failures.hpp"
#include "smtp/client/mail_attempt.hpp"
#include "smtp/client/retries.hpp"
#include "smtp/content_error.hpp"

#include <coracle/base/log.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/error.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace coracle::smtp::detail {
namespace {

constexpr std::string_view v6_tag = "[ipv6:";

/// The address that "[192.0.2.1]" or "[ipv6:2001:db8::1]" holds (RFC 5321 section 4.1.3); empty
/// where the domain is a name.
std::string literal_in(std::string_view domain) {
    if (!domain.starts_with('[') || !domain.ends_with(']')) return {};
    domain.remove_suffix(1);
    domain.remove_prefix(domain.starts_with(v6_tag) ? v6_tag.size() : 1);
    return std::string(domain);
}

/// Puts hosts of equal preference in random order (RFC 5321 section 5.1).
void mix_equals(std::vector<net::mail_host>& hosts, loop& l) {
    for (auto first = hosts.begin(); first != hosts.end();) {
        const std::uint16_t preference = first->preference;
        const auto end = std::find_if(first, hosts.end(),
                                      [=](const auto& h) { return h.preference != preference; });
        for (auto left = end - first; left > 1; --left) {
            const auto chosen = l.random() % static_cast<std::uint64_t>(left);
            std::swap(first[left - 1], first[static_cast<std::ptrdiff_t>(chosen)]);
        }
        first = end;
    }
}

/// Returns true if the options of the caller are invalid for every host. An invalid name or address
/// that the domain has published, such as a link-local one, is not meant.
bool is_about_arguments(const error& why) noexcept {
    return why == std::errc::invalid_argument && why.phase() != phase::resolve &&
           why.phase() != phase::connect;
}

/// Returns true if another host of the domain may take what this one did not.
bool another_host_may_help(const error& why) noexcept {
    if (coracle::detail::is_cancellation(why) || why.code() == make_error_code(errc::uncertain) ||
        is_about_arguments(why) || is_about_content(why)) {
        return false;
    }
    const failure* const f = failure_of(why);
    if (f == nullptr) return true;
    // A host that lets nobody in says nothing of the mail (RFC 5321 section 3.1), nor does one that
    // has no TLS.
    const std::string_view asked = f->command();
    return !f->reply().permanent() || asked == "greeting" || asked == "STARTTLS" ||
           asked.starts_with("EHLO ") || asked.starts_with("HELO ");
}

bool is_about_certificate(const error& why) noexcept {
    return why.code().category() == tls::category() &&
           why.code() >= make_error_code(tls::errc::certificate_expired) &&
           why.code() <= make_error_code(tls::errc::certificate_invalid);
}

/// Returns true if a host and we have no version or cipher of TLS in common, or it fails, closes or
/// says nothing in the handshake: not a proxy before it.
bool is_about_handshake(const error& why) noexcept {
    const failure* const f = failure_of(why);
    return why.phase() == phase::tls && f != nullptr && f->command() == "STARTTLS" &&
           !coracle::detail::is_cancellation(why) && !is_about_certificate(why);
}

}  // namespace

domain_delivery::domain_delivery(client_core& core, client_shard& here, const client_options& o,
                                 domain_part& part)
    : core_(core), here_(here), part_(part), given_(o), options_(o) {}

task<std::expected<receipt, error>> domain_delivery::run() {
    retries again(options_.retry, here_.counters.retries);
    auto running = again.run([this] { return attempt(); });
    co_return co_await std::move(running);
}

error domain_delivery::fail(errc why, bool safe) const {
    error e(make_error_code(why), "smtp", phase::resolve);
    return std::move(e.on(part_.domain).retry_is_safe(safe));
}

error domain_delivery::about(error e, const std::string& host) const {
    if (coracle::detail::is_cancellation(e)) return e;
    std::string subject = part_.domain;
    if (!host.empty()) subject.append(" by ").append(host);
    return std::move(e.on(subject.append(": ").append(e.subject())));
}

// The policy may have been replaced, or may have ended, since the last attempt.
std::expected<void, error> domain_delivery::adopt_policy() {
    options_.starttls = given_.starttls;
    options_.insecure = given_.insecure;
    policy_ = core_.policy_of(part_.domain, here_.owner().unix_time());
    if (policy_ && policy_->mode == sts_mode::none) policy_.reset();
    if (policy_ && policy_->mode == sts_mode::enforce) {
        options_.starttls = starttls::required;
        options_.insecure = false;
        // A context of the program's that trusts everybody cannot tell who the host is.
        const auto& context = options_.tls_context;
        if (context == nullptr || !context->options().insecure) return {};
        return std::unexpected(fail(errc::policy_not_met, false));
    }
    // RFC 8689 section 4.2.1: who the hosts are has to be known for certain, and without DNSSEC a
    // policy alone says so.
    if (options_.require_tls) return std::unexpected(fail(errc::requiretls_unavailable, false));
    // Where mail may go in clear a certificate protects nothing (RFC 7435), and those of MX hosts
    // are rarely for their names. A policy that is tested wants to know.
    if (options_.starttls == starttls::wanted) options_.insecure = !policy_;
    return {};
}

// RFC 8461 section 5: such a failure may be in order the next time.
bool domain_delivery::is_refused_by_policy(const error& why) const noexcept {
    if (!policy_ || policy_->mode != sts_mode::enforce) return false;
    return why.code().category() == tls::category() ||
           why.code() == make_error_code(errc::starttls_unavailable) ||
           why.code() == make_error_code(errc::bytes_before_tls);
}

domain_delivery::host_list domain_delivery::order(std::vector<net::mail_host> found) {
    std::vector<std::string> hosts;
    // Without MX records the domain is its own host.
    if (found.empty()) found.push_back({0, part_.domain});
    if (found.front().name.empty()) return std::unexpected(fail(errc::null_mx, false));
    if (policy_ && policy_->mode == sts_mode::enforce) {
        std::erase_if(found, [this](const auto& h) { return !policy_->allows(h.name); });
        // RFC 8461 section 5: not now, and not never: records and policies change.
        if (found.empty()) return std::unexpected(fail(errc::policy_not_met, true));
    }
    mix_equals(found, here_.owner());
    const std::size_t most = std::max(1U, options_.mx_hosts);
    if (found.size() > most) found.resize(most);
    hosts.reserve(found.size());
    for (net::mail_host& h : found) hosts.push_back(std::move(h.name));
    return hosts;
}

task<domain_delivery::host_list> domain_delivery::find_hosts() {
    if (std::string literal = literal_in(part_.domain); !literal.empty()) {
        co_return std::vector<std::string>{std::move(literal)};
    }
    auto asking = here_.names().mail_hosts(part_.domain);
    auto found = co_await as_result(asking);
    if (!found) co_return std::unexpected(about(std::move(found).error(), {}));
    co_return order(*std::move(found));
}

void domain_delivery::warn(const std::string& host, std::string_view fault) const {
    std::string text = "MTA-STS (testing) " + part_.domain + " by " + host + ": ";
    here_.owner().log().write(log_layer::smtp, log_level::warning, text.append(fault));
}

void domain_delivery::check_testing(const std::string& host, bool secure) const {
    if (!policy_ || policy_->mode != sts_mode::testing) return;
    if (!policy_->allows(host)) {
        warn(host, "a host that the policy does not allow");
    } else if (!secure) {
        warn(host, "sent in clear");
    }
}

task<std::expected<receipt, error>> domain_delivery::deliver(const std::string& host,
                                                             const client_options& o) {
    auto by = core_.route_to(host, o);
    if (!by) co_return std::unexpected(std::move(by).error());
    mail_attempt one(here_, part_.mail, o, *std::move(by), core_.pool().waiting, part_.progress);
    auto trying = one.run();
    co_return co_await std::move(trying);
}

task<std::expected<receipt, error>> domain_delivery::try_host(const std::string& host) {
    client_options o = options_;
    auto delivering = deliver(host, o);
    auto r = co_await std::move(delivering);
    // A context of the program's verifies or not, whatever the options say.
    const bool tested = policy_ && policy_->mode == sts_mode::testing && o.tls_context == nullptr;
    if (!r && tested && o.starttls == starttls::wanted && is_about_certificate(r.error())) {
        warn(host, r.error().code().message());
        o.insecure = true;
        auto again = deliver(host, o);
        r = co_await std::move(again);
    }
    // A bounce protects no more than a mail in clear, where any certificate is taken (RFC 7435
    // section 3).
    if (!r && o.starttls == starttls::wanted && is_about_handshake(r.error())) {
        o.starttls = starttls::off;
        auto in_clear = deliver(host, o);
        r = co_await std::move(in_clear);
    }
    if (r) {
        check_testing(host, r->secure);
        co_return std::move(r);
    }
    co_return std::unexpected(about(std::move(r).error(), host));
}

task<std::expected<receipt, error>> domain_delivery::attempt() {
    if (auto adopted = adopt_policy(); !adopted) {
        co_return std::unexpected(std::move(adopted).error());
    }
    auto finding = find_hosts();
    auto hosts = co_await std::move(finding);
    if (!hosts) co_return std::unexpected(std::move(hosts).error());
    bool later = false;
    std::optional<error> last;
    for (const std::string& host : *hosts) {
        auto trying = try_host(host);
        auto r = co_await std::move(trying);
        if (r || !another_host_may_help(r.error())) co_return std::move(r);
        later = later || r.error().safe_to_retry() || is_refused_by_policy(r.error());
        last = std::move(r).error();
    }
    co_return std::unexpected(std::move(last->retry_is_safe(later)));
}

}  // namespace coracle::smtp::detail
