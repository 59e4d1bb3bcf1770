#pragma once

#include "http/coding/decoder.hpp"

#include <coracle/http/body.hpp>

namespace coracle::http::detail {

/// A received body as it is without one of its codings.
class decoding_source final : public body_source {
public:
    decoding_source(received_body encoded, content_coding coding, const decoding_limits& limits)
        : encoded_(encoded), decoder_(coding, limits), room_(std::make_unique<char[]>(room_size)) {}

    task<std::expected<std::string_view, error>> read() override;
    std::optional<std::uint64_t> length() const noexcept override { return std::nullopt; }
    const fields* trailers() const noexcept override { return &encoded_.trailers(); }
    void refused(std::error_code why) noexcept override { encoded_.refuse(why); }

private:
    static constexpr std::size_t room_size = 16 * 1024;

    std::unexpected<error> fail(coding_error why) noexcept;

    received_body encoded_;
    decoder decoder_;
    std::unique_ptr<char[]> room_;
    std::string_view in_;  ///< received, and not decoded yet
    std::size_t since_yield_ = 0;
};

}  // namespace coracle::http::detail
