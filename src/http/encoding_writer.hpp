#pragma once

#include "coding/encoder_pool.hpp"
#include "http/message/digest_fields.hpp"

#include <coracle/http/body.hpp>
#include <coracle/http/coding.hpp>

namespace coracle::http::detail {

/// Encodes what is written to it, and writes that to another writer.
class encoding_writer final : public body_writer {
public:
    encoding_writer(body_writer& out, content_coding coding)
        : out_(&out), encoder_(coding, std::nullopt),
          encoded_(std::make_unique<char[]>(coding::coded_at_once)) {}

    /// Encodes all of `in` and writes the result.
    task<std::expected<void, error>> encode(std::string_view in, coding::encode_action action);
    /// The bytes that were encoded.
    std::uint64_t taken() const noexcept { return taken_; }

private:
    task<std::expected<void, error>> write_piece(std::string_view piece) override;
    task<std::expected<void, error>> send_head() override;
    void add_trailer(std::string_view name, std::string_view value) override {
        // A digest is of the bytes as they were written.
        if (!is_digest_field(name)) out_->set_trailer(name, value);
    }

    body_writer* out_;
    coding::pooled_encoder encoder_;
    std::unique_ptr<char[]> encoded_;
    std::uint64_t taken_ = 0;
    std::size_t since_yield_ = 0;
};

}  // namespace coracle::http::detail
