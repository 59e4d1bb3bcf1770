#pragma once

#include "smtp/client/domain_delivery.hpp"

#include <vector>

namespace coracle::smtp::detail {

/// A mail that goes to the hosts for mail of its recipients' domains: one transaction for each
/// domain, and the results of all of them in one.
class mx_delivery {
public:
    mx_delivery(client_core& core, client_shard& here, const message& m, const client_options& o);

    task<std::expected<receipt, error>> run();
    /// Returns whether a host has the mail, or may have it.
    bool maybe_sent() const noexcept;
    /// Adds the outcome for each recipient to an error.
    void tell_recipients(error& e) const;

private:
    using outcome = std::expected<receipt, error>;

    task<> deliver(domain_part* part);
    std::vector<recipient_result> results() const;
    outcome merged() const;
    error merged_failure() const;

    client_core& core_;
    client_shard& here_;
    const message& mail_;
    const client_options& options_;
    std::vector<domain_part> parts_;
};

}  // namespace coracle::smtp::detail
