#pragma once

#include "lane.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/event.hpp>

#include <memory>

namespace coracle::tool::bench {

/// A connection of HTTP/2, which several lanes share: a client that opens just one.
struct h2_connection {
    explicit h2_connection(const load_plan& plan);

    http::client client;
    event tried;          ///< the first lane has tried to open it
    bool opened = false;  ///< by a request that is not counted
};

/// A stream of a connection of HTTP/2: calls of the client.
class h2_lane final : public lane {
public:
    h2_lane(worker& w, std::size_t index, std::shared_ptr<h2_connection> c) noexcept
        : lane(w, index), connection_(std::move(c)) {}

private:
    task<> session() override;
    task<bool> open();
    task<bool> exchange(const prepared_request& request, bool counted);
    void note_failure(const error& e, bool counted);
    http::call call_of(const prepared_request& request);

    std::shared_ptr<h2_connection> connection_;
};

}  // namespace coracle::tool::bench
