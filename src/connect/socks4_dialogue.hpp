#pragma once

#include "connect/dialogue.hpp"

namespace coracle::connect {

/// SOCKS4 and its extension 4A: one request, one reply of 8 bytes.
class socks4_dialogue final : public dialogue {
public:
    /// `host` is an IPv4 address, or a name for 4A.
    socks4_dialogue(const proxy& p, std::string_view host, std::uint16_t port);

    std::size_t take(std::string_view bytes) override;

private:
    std::string reply_;
};

}  // namespace coracle::connect
