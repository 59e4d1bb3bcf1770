#pragma once

#include "lane.hpp"
#include "response_reader.hpp"

#include <coracle/net/byte_stream.hpp>

#include <memory>

namespace coracle::tool::bench {

/// A connection of HTTP/1.1, plain or over TLS, on the public codec: a request costs one send and
/// one receive, and allocates nothing.
class h1_lane final : public lane {
public:
    using lane::lane;

private:
    task<> session() override;
    void leave() noexcept override;
    task<bool> open();
    task<bool> is_left();
    bool end_with(const error& e) noexcept;

    std::unique_ptr<net::byte_stream> stream_;
    response_reader reader_;
};

}  // namespace coracle::tool::bench
