#pragma once

#include "smtp/client/core.hpp"
#include "smtp/client/mail_progress.hpp"

#include <coracle/smtp/sending.hpp>

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::smtp::detail {

/// The recipients of a mail in one domain, and the mail with these alone in its envelope.
struct domain_part {
    std::string domain;  ///< lower case, A-labels; or an address literal with its brackets
    message mail;
    std::vector<std::string> recipients = {};
    mail_progress progress = {};
    std::optional<std::expected<receipt, error>> outcome = {};
};

/// Delivers to one domain: looks up its hosts for mail (RFC 5321 section 5.1), and tries them one
/// after the other. Belongs to one loop; what it is made of must outlive it.
class domain_delivery {
public:
    domain_delivery(client_core& core, client_shard& here, const client_options& o,
                    domain_part& part);

    task<std::expected<receipt, error>> run();

private:
    using outcome = std::expected<receipt, error>;
    using host_list = std::expected<std::vector<std::string>, error>;

    /// Looks the hosts up, and tries them.
    task<outcome> attempt();
    /// Those that may be tried, in their order.
    task<host_list> find_hosts();
    host_list order(std::vector<net::mail_host> found);
    std::expected<void, error> adopt_policy();
    bool is_refused_by_policy(const error& why) const noexcept;
    /// By this host, where a policy that is only tested says what it would have refused.
    task<outcome> try_host(const std::string& host);
    task<outcome> deliver(const std::string& host, const client_options& o);
    void check_testing(const std::string& host, bool secure) const;
    void warn(const std::string& host, std::string_view fault) const;
    error fail(errc why, bool safe) const;
    error about(error e, const std::string& host) const;

    client_core& core_;
    client_shard& here_;
    domain_part& part_;
    const client_options& given_;
    client_options options_;  ///< as the policy of the attempt changes them
    std::optional<sts_policy> policy_;
};

}  // namespace coracle::smtp::detail
