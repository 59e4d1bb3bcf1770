#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::testing {

/// One of the HTTP servers of tests/support/http_peers ("nginx", "apache", "httpbin", "aiohttp"),
/// or "toxiproxy", as a process of its own that ends with this object; or one of this process.
class http_peer {
public:
    /// Null when what it needs is not installed: skip the test then. Throws `std::runtime_error`
    /// when it does not start, or is missing where all peers must be there.
    static std::unique_ptr<http_peer> start(const std::string& name);
    /// A server of this process, which outlives it, with the URL of each behaviour and "base".
    http_peer(std::string name, std::map<std::string, std::string> urls)
        : name_(std::move(name)), urls_(std::move(urls)) {}
    ~http_peer();
    http_peer(const http_peer&) = delete;
    http_peer& operator=(const http_peer&) = delete;

    /// Returns true if it has a behaviour, such as "redirect_302": http_peers/process.py lists
    /// them.
    bool has(const std::string& behaviour) const { return urls_.contains(behaviour); }
    /// Throws `std::out_of_range` when it has not.
    const std::string& url(const std::string& behaviour) const { return urls_.at(behaviour); }
    /// Any other target.
    std::string at(std::string_view target) const { return urls_.at("base") + std::string(target); }
    const std::string& name() const noexcept { return name_; }

    /// A command for toxiproxy, as http_peers/__main__.py has them; what is said behind "ok".
    /// Throws `std::runtime_error` with what went wrong.
    std::string tell(const std::string& command);

private:
    explicit http_peer(const std::string& name) : name_(name) {}
    void launch();
    /// Returns what is missing; else empty.
    std::string read_urls();
    std::string read_line();

    std::string name_;
    int connection_ = -1;  ///< its standard input and output
    int pid_ = -1;
    std::string pending_;
    std::map<std::string, std::string> urls_;
};

}  // namespace coracle::testing
