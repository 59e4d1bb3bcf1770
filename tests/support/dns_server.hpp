#pragma once

#include <coracle/net/address.hpp>
#include <coracle/net/resolver.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace coracle::testing {

inline constexpr std::uint16_t dns_a = 1;
inline constexpr std::uint16_t dns_mx = 15;
inline constexpr std::uint16_t dns_aaaa = 28;

/// A query that a name server received.
struct dns_query {
    std::string bytes;
    std::string name;
    std::uint16_t type = 0;
    bool tcp = false;
    unsigned nth = 0;  ///< the how-manieth for this name and type, from 1
    std::uint16_t from_port = 0;
};

/// Writes a response, record by record.
class dns_reply {
public:
    explicit dns_reply(const dns_query& q);
    dns_reply& code(unsigned c);  ///< 2: SERVFAIL, 3: NXDOMAIN, 5: REFUSED
    dns_reply& truncated();
    dns_reply& other_id();
    dns_reply& question(const std::string& name);
    dns_reply& a(const std::string& owner, const std::string& text, std::uint32_t ttl = 300);
    dns_reply& aaaa(const std::string& owner, const std::string& text, std::uint32_t ttl = 300);
    dns_reply& cname(const std::string& owner, const std::string& target, std::uint32_t ttl = 300);
    /// `host`: "" for the root.
    dns_reply& mx(const std::string& owner, std::uint16_t preference, const std::string& host,
                  std::uint32_t ttl = 300);
    dns_reply& soa(std::uint32_t ttl, std::uint32_t minimum);
    operator std::string() const { return bytes(); }
    std::string bytes() const;

private:
    dns_reply& record(const std::string& owner, std::uint16_t type, std::uint32_t ttl,
                      const std::string& data);
    std::string head_;
    std::string question_;
    std::string records_;
    std::string authority_;
    unsigned record_count_ = 0;
    unsigned authorities_ = 0;
};

/// Options of a resolver that asks these servers alone, and heeds nothing of this machine.
net::resolver_options asking(std::vector<net::address> servers);

/// A name server on the loopback, UDP and TCP on one port that the system picks, in a thread of its
/// own. It responds as a script says, which runs in that thread.
class dns_server {
public:
    /// Gives what to send back, in this order; nothing for silence.
    using script = std::function<std::vector<std::string>(const dns_query&)>;
    explicit dns_server(script s);
    ~dns_server();
    dns_server(const dns_server&) = delete;
    dns_server& operator=(const dns_server&) = delete;

    net::address at() const noexcept { return at_; }
    /// How often this was asked for.
    unsigned asked(const std::string& name, std::uint16_t type);
    unsigned asked() const noexcept { return asked_; }
    std::size_t ports() const noexcept { return ports_; }

private:
    void run();
    void respond_to_datagram();
    bool respond_to_connection(int fd);
    std::vector<std::string> ask_script(std::string bytes, bool tcp, std::uint16_t from);

    script script_;
    net::address at_;
    int datagrams_ = -1;
    int listener_ = -1;
    int end_[2] = {-1, -1};
    std::mutex mutex_;
    std::map<std::pair<std::string, std::uint16_t>, unsigned> counts_;
    std::map<std::uint16_t, unsigned> from_;
    std::atomic<unsigned> asked_{0};
    std::atomic<std::size_t> ports_{0};
    std::thread thread_;
};

}  // namespace coracle::testing
