#pragma once

#include "load_plan.hpp"

#include <coracle/connect/connect.hpp>
#include <coracle/http/method.hpp>
#include <coracle/tls/context.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::tool::bench {

/// A request as it is sent.
struct prepared_request {
    http::method method = http::method::get;
    std::string bytes;  ///< of HTTP/1.1: head and body
    std::string url;
    const planned_request* plan = nullptr;
};

/// The server and the requests to it, worked out once; all loops read it.
class target {
public:
    /// Throws `failure` for requests that cannot be sent, certificates that cannot be read, and the
    /// like. `plan` must stay.
    explicit target(const load_plan& plan);

    const load_plan& plan() const noexcept { return *plan_; }
    const std::vector<prepared_request>& requests() const noexcept { return requests_; }
    const std::string& host() const noexcept { return host_; }
    std::uint16_t port() const noexcept { return port_; }
    const connect::options& connecting() const noexcept { return connecting_; }
    /// Null without TLS.
    tls::client_context* tls() const noexcept { return tls_.get(); }

private:
    void prepare_requests();
    void prepare_connecting();
    void prepare_tls();

    const load_plan* plan_;
    std::string host_;
    std::uint16_t port_;
    std::vector<prepared_request> requests_;
    connect::options connecting_;
    std::unique_ptr<tls::client_context> tls_;
};

}  // namespace coracle::tool::bench
