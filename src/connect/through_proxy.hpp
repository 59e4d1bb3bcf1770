#pragma once

#include "connect/dialogue.hpp"
#include "connect/race.hpp"

#include <string>
#include <vector>

namespace coracle::connect {

/// One connection through the proxy of `o`. Lives in the frame of the task that runs it.
class through_proxy {
public:
    using result = race::result;

    through_proxy(net::resolver& names, const options& o);
    through_proxy(const through_proxy&) = delete;
    through_proxy& operator=(const through_proxy&) = delete;

    /// A stream to the target.
    task<result> connect_to(const std::string& host, std::uint16_t port);
    /// A stream to the proxy itself.
    task<result> connect_to_proxy();

private:
    /// The operation and the phase that an error names.
    struct part {
        const char* operation;
        coracle::phase where;
    };
    using addresses = std::vector<net::address>;

    task<std::expected<addresses, error>> resolve(const std::string& host, std::uint16_t port);
    task<result> open(const std::string& host, std::uint16_t port);
    task<result> reach();
    task<result> encrypt(std::unique_ptr<net::byte_stream> beneath);
    task<result> talk(std::unique_ptr<net::byte_stream> s, dialogue& d);
    task<result> within_deadline(task<result> work, part p);
    error refused(const refusal& why) const;
    error with_subject(const error& e, part p) const;
    void note(duration timings::* when) const noexcept;

    net::resolver* names_;
    options options_;
    const proxy& proxy_;
    time_point start_;
    time_point give_up_;
    std::string subject_;                       ///< "socks5://proxy:1080 to boats:80"
    std::shared_ptr<tls::client_context> tls_;  ///< objects that the stream needs
};

}  // namespace coracle::connect
