#pragma once

#include <coracle/http/request.hpp>

namespace coracle::http::detail {

class connection;

/// Sends interim answers of one request, for as long as its handler runs.
class interim_writer final : public interim_sender {
public:
    interim_writer(connection& c, request& req) noexcept : connection_(&c), request_(&req) {
        req.set_interim_sender(this);
    }
    ~interim_writer() { request_->set_interim_sender(nullptr); }
    interim_writer(const interim_writer&) = delete;
    interim_writer& operator=(const interim_writer&) = delete;

    task<std::expected<void, error>> send_interim(const response& interim) override;

private:
    connection* connection_;
    request* request_;
};

}  // namespace coracle::http::detail
