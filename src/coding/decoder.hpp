#pragma once

#include <coracle/coding/content_coding.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace coracle::coding {

struct decode_result {
    std::size_t consumed = 0;
    std::size_t produced = 0;
    coding_error error = coding_error::none;
};

/// One coding as its library decodes it. `decode` makes all the progress that the input and the
/// room allow; `complete`: whether the content may end here.
class decoder_engine {
public:
    virtual ~decoder_engine() = default;
    virtual decode_result decode(std::string_view in, std::span<char> out) = 0;
    virtual bool complete() const noexcept = 0;
    /// Bytes that it holds.
    virtual std::size_t memory() const noexcept = 0;
};

/// The most memory that several decoders hold together. Outlives them; belongs to one thread.
struct decoder_budget {
    std::uint64_t most = 0;
    std::uint64_t held = 0;
};

/// Decodes one content, piece by piece, within limits. Not thread-safe; may move between threads.
///
/// gzip may consist of several members, and zstd of several frames. `deflate` is the zlib format
/// (RFC 9110 section 8.4.1.2), and also the raw one, which some peers send in its place.
class decoder {
public:
    /// `coding` is any but identity. What it holds counts in `budget`, if there is one: beyond that
    /// decoding fails with `no_memory`. Throws std::bad_alloc.
    explicit decoder(content_coding coding, const decoding_limits& limits = {},
                     decoder_budget* budget = nullptr);
    decoder(const decoder&) = delete;
    decoder& operator=(const decoder&) = delete;
    ~decoder();

    /// Decodes what it can of `in` into `out`. When it has neither consumed all nor filled `out`,
    /// there is an error, which stays. When it has filled `out`, there may be more to come: call it
    /// again, also with no input.
    decode_result decode(std::string_view in, std::span<char> out);

    /// Returns `none` if the content may end here, else `truncated` or the error that occurred.
    coding_error finish() const noexcept;

    std::uint64_t consumed() const noexcept { return consumed_; }
    std::uint64_t produced() const noexcept { return produced_; }

private:
    coding_error check_limits() const noexcept;
    coding_error check_budget() noexcept;

    std::unique_ptr<decoder_engine> engine_;
    decoding_limits limits_;
    std::uint64_t consumed_ = 0;
    std::uint64_t produced_ = 0;
    coding_error error_ = coding_error::none;
    decoder_budget* budget_;
    std::uint64_t held_ = 0;  ///< of the budget
};

std::unique_ptr<decoder_engine> make_zlib_decoder(content_coding coding);
std::unique_ptr<decoder_engine> make_brotli_decoder(std::uint64_t window);
std::unique_ptr<decoder_engine> make_zstd_decoder(std::uint64_t window);

}  // namespace coracle::coding
