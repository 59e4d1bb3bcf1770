#pragma once

#include "coding/decoder.hpp"

#include <coracle/http/body.hpp>
#include <coracle/http/coding.hpp>

namespace coracle::http::detail {

/// The names of the limits for errors, as the user knows them; empty: errors do not name them.
struct decoding_limit_names {
    std::string_view decoded = {};
    std::string_view ratio = {};
};

/// A received body with one of its codings removed.
class decoding_source final : public body_source {
public:
    decoding_source(received_body encoded, content_coding coding, const decoding_limits& limits,
                    const decoding_limit_names& names = {},
                    coding::decoder_budget* budget = nullptr)
        : encoded_(encoded), decoder_(coding, limits, budget),
          room_(std::make_unique<char[]>(room_size)), names_(names) {}

    task<std::expected<std::string_view, error>> read() override;
    std::optional<std::uint64_t> length() const noexcept override { return std::nullopt; }
    const fields* trailers() const noexcept override { return &encoded_.trailers(); }
    error refused(error why) override { return encoded_.refuse(std::move(why)); }

private:
    static constexpr std::size_t room_size = 16 * 1024;

    std::unexpected<error> fail(coding_error why);

    received_body encoded_;
    coding::decoder decoder_;
    std::unique_ptr<char[]> room_;
    std::string_view in_;  ///< received, and not decoded yet
    bool received_any_ = false;
    std::size_t since_yield_ = 0;
    decoding_limit_names names_;
};

}  // namespace coracle::http::detail
