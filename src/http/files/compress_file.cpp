#include "http/files/compress_file.hpp"

#include "coding/encoder.hpp"

#include <algorithm>

namespace coracle::http::detail {
namespace {

using coding::encode_action;
using coding::encode_result;
using coding::encoder;

constexpr std::size_t piece_size = 64 * 1024;

/// The output of an encoder, abandoned when it exceeds a limit.
class bounded_output {
public:
    bounded_output(encoder& e, std::size_t bound) : encoder_(&e), bound_(bound) {}

    /// Returns false if the output exceeds the limit.
    bool encode(std::string_view in, encode_action action) {
        for (;;) {
            const std::size_t used = bytes_.size();
            bytes_.resize(used + piece_size);
            const encode_result r =
                encoder_->encode(in, {bytes_.data() + used, piece_size}, action);
            bytes_.resize(used + r.produced);
            in.remove_prefix(r.consumed);
            if (bytes_.size() > bound_) return false;
            if (r.done) return true;
        }
    }
    std::string take() {
        bytes_.shrink_to_fit();
        return std::move(bytes_);
    }

private:
    encoder* encoder_;
    std::size_t bound_;
    std::string bytes_;
};

bool is_unchanged(const fs::plain_file& file) {
    const auto now = file.current_status();
    return now && now->size == file.status().size && now->modified_ns == file.status().modified_ns;
}

}  // namespace

std::expected<std::shared_ptr<const std::string>, error> compress_file(const fs::plain_file& file,
                                                                       content_coding coding) {
    const std::uint64_t size = file.status().size;
    const auto maker = coding::make_encoder(coding);
    maker->begin(size);
    bounded_output out(*maker, static_cast<std::size_t>(size - size / 20));
    const std::unique_ptr<char[]> piece(new char[piece_size]);
    for (std::uint64_t at = 0; at != size;) {
        const std::size_t wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(size - at, piece_size));
        const auto n = file.read_at(at, {piece.get(), wanted});
        if (!n) return std::unexpected(n.error());
        if (*n != wanted) return std::unexpected(error(std::errc::io_error, "compress"));
        at += wanted;
        const auto action = at == size ? encode_action::finish : encode_action::process;
        if (!out.encode({piece.get(), wanted}, action)) return nullptr;
    }
    if (!is_unchanged(file)) return std::unexpected(error(std::errc::io_error, "compress"));
    return std::make_shared<const std::string>(out.take());
}

}  // namespace coracle::http::detail
