#pragma once

#include <coracle/http/h1.hpp>
#include <coracle/http/method.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::tool::bench {

/// Reads responses of HTTP/1.1, one at a time, and keeps nothing of them but the status. Bytes in,
/// verdict out.
class response_reader {
public:
    enum class state : std::uint8_t {
        more,    ///< of the response is still to come
        done,    ///< `status` and `keeps_alive` are those of the response
        broken,  ///< no response, or bytes that nobody has asked for
    };

    /// Begins the response to a request with this method.
    void begin(http::method m) noexcept;
    /// Takes what was received, all of it.
    state feed(std::string_view bytes);
    /// Takes the end of the stream.
    state end() const noexcept;

    unsigned status() const noexcept { return status_; }
    bool keeps_alive() const noexcept { return keeps_alive_; }

private:
    state begin_body(std::string_view rest);
    state read_body(std::string_view bytes);

    http::h1::response_parser parser_;
    http::h1::response_head head_;
    http::h1::chunked_decoder chunks_;
    std::string partial_;  ///< of a head
    std::uint64_t left_ = 0;
    http::method method_ = http::method::get;
    http::h1::body_framing framing_ = http::h1::body_framing::none;
    unsigned status_ = 0;
    bool keeps_alive_ = false;
    bool in_body_ = false;
};

}  // namespace coracle::tool::bench
