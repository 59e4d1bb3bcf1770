#pragma once

#include <coracle/net/address.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::net::detail {

/// The names of a hosts file (hosts(5)), in lower case.
using host_table = std::map<std::string, std::vector<address>, std::less<>>;
host_table read_hosts(std::string_view text);

/// The settings of resolv.conf(5) that a resolver uses.
struct name_configuration {
    std::vector<address> servers;
    std::vector<std::string> search;
    unsigned dots = 1;
};
name_configuration read_configuration(std::string_view text);

/// A file that is read again when it has changed.
class watched_file {
public:
    explicit watched_file(std::string path) : path_(std::move(path)) {}

    /// Returns true if the file has changed since the last call, and at the first call. A missing
    /// file counts as empty.
    bool changed();
    /// Returns its text; nothing where it is there, and cannot be read now.
    std::optional<std::string> read() const;
    /// Makes the next `changed` true.
    void forget() noexcept { read_before_ = false; }

private:
    struct stamp {
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        std::int64_t seconds = 0;
        std::int64_t nanoseconds = 0;
        std::int64_t size = -1;
        bool operator==(const stamp&) const noexcept = default;
    };

    std::string path_;
    stamp last_;
    bool read_before_ = false;
};

}  // namespace coracle::net::detail
