#pragma once

#include <coracle/http/body.hpp>

namespace coracle::http::detail {

/// A source around the body that a message had, which is passed on in all but its pieces.
class body_layer : public body_source {
public:
    std::optional<std::uint64_t> length() const noexcept override { return whole_.length(); }
    const fields* trailers() const noexcept override { return &whole_.trailers(); }
    error refused(error why) override { return whole_.refuse(std::move(why)); }

protected:
    explicit body_layer(received_body whole) noexcept : whole_(whole) {}
    ~body_layer() = default;

    received_body& whole() noexcept { return whole_; }

private:
    received_body whole_;
};

}  // namespace coracle::http::detail
