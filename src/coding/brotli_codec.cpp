// brotli (RFC 7932).

#include "coding/decoder.hpp"
#include "coding/encoder.hpp"

#include <brotli/decode.h>
#include <brotli/encode.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace coracle::coding {
namespace {

constexpr int usual_quality = 5;
constexpr int usual_window_bits = 16;

/// Memory for one brotli encoder at a time, which knows no reset: what one gives back is what the
/// next one asks for.
class block_cache {
public:
    block_cache() = default;
    ~block_cache() {
        for (const block& b : free_) std::free(b.memory);
    }
    block_cache(const block_cache&) = delete;
    block_cache& operator=(const block_cache&) = delete;

    static void* allocate(void* self, std::size_t size) noexcept {
        return static_cast<block_cache*>(self)->take(size);
    }
    static void release(void* self, void* memory) noexcept {
        if (memory != nullptr) static_cast<block_cache*>(self)->give_back(memory);
    }

private:
    struct block {
        std::size_t size;
        void* memory;
    };
    static constexpr std::size_t most_kept = 2 * 1024 * 1024;
    /// The size of the header in front of the memory, which holds its size; aligned.
    static constexpr std::size_t header = alignof(std::max_align_t);

    void* take(std::size_t size) noexcept {
        auto best = free_.end();
        for (auto b = free_.begin(); b != free_.end(); ++b) {
            if (b->size >= size && b->size / 2 <= size &&
                (best == free_.end() || b->size < best->size)) {
                best = b;
            }
        }
        if (best == free_.end()) return fresh(size);
        void* const memory = best->memory;
        kept_ -= best->size;
        free_.erase(best);
        return static_cast<char*>(memory) + header;
    }

    static void* fresh(std::size_t size) noexcept {
        void* const memory = std::malloc(header + size);
        if (memory == nullptr) return nullptr;
        ::new (memory) std::size_t(size);
        return static_cast<char*>(memory) + header;
    }

    void give_back(void* shown) noexcept {
        void* const memory = static_cast<char*>(shown) - header;
        const std::size_t size = *static_cast<std::size_t*>(memory);
        if (kept_ + size > most_kept || free_.size() == free_.capacity()) {
            std::free(memory);
            return;
        }
        kept_ += size;
        free_.push_back({size, memory});
    }

    static std::vector<block> room_for_some() {
        std::vector<block> blocks;
        blocks.reserve(32);
        return blocks;
    }

    std::vector<block> free_ = room_for_some();
    std::size_t kept_ = 0;
};

BrotliEncoderOperation operation_of(encode_action action) noexcept {
    switch (action) {
        case encode_action::flush: return BROTLI_OPERATION_FLUSH;
        case encode_action::finish: return BROTLI_OPERATION_FINISH;
        case encode_action::process: break;
    }
    return BROTLI_OPERATION_PROCESS;
}

/// A window that holds the content, or the largest that we take.
std::uint32_t window_for(std::uint64_t size, int largest) noexcept {
    return static_cast<std::uint32_t>(
        std::clamp(static_cast<int>(std::bit_width(size + 16)), BROTLI_MIN_WINDOW_BITS, largest));
}

class brotli_encoder final : public encoder {
public:
    explicit brotli_encoder(encoder_level level)
        : quality_(
              std::clamp(level.value_or(usual_quality), BROTLI_MIN_QUALITY, BROTLI_MAX_QUALITY)),
          window_bits_(level ? BROTLI_DEFAULT_WINDOW : usual_window_bits) {}
    ~brotli_encoder() override { end(); }

    void begin(std::optional<std::uint64_t> size) override {
        end();
        state_ =
            BrotliEncoderCreateInstance(&block_cache::allocate, &block_cache::release, &cache_);
        if (state_ == nullptr) throw std::bad_alloc();
        BrotliEncoderSetParameter(state_, BROTLI_PARAM_QUALITY,
                                  static_cast<std::uint32_t>(quality_));
        BrotliEncoderSetParameter(state_, BROTLI_PARAM_LGWIN,
                                  window_for(size.value_or(UINT32_MAX), window_bits_));
        if (!size) return;
        const std::uint64_t hint = std::min<std::uint64_t>(*size, 1U << 30);
        BrotliEncoderSetParameter(state_, BROTLI_PARAM_SIZE_HINT, static_cast<std::uint32_t>(hint));
    }

    encode_result encode(std::string_view in, std::span<char> out, encode_action action) override {
        std::size_t left = in.size();
        std::size_t room = out.size();
        auto* next_in = reinterpret_cast<const std::uint8_t*>(in.data());
        auto* next_out = reinterpret_cast<std::uint8_t*>(out.data());
        if (BrotliEncoderCompressStream(state_, operation_of(action), &left, &next_in, &room,
                                        &next_out, nullptr) == BROTLI_FALSE) {
            throw std::bad_alloc();  // the only way that it fails when called in order
        }
        encode_result r{in.size() - left, out.size() - room, left == 0};
        if (action == encode_action::flush)
            r.done = r.done && BrotliEncoderHasMoreOutput(state_) == BROTLI_FALSE;
        else if (action == encode_action::finish)
            r.done = BrotliEncoderIsFinished(state_) == BROTLI_TRUE;
        return r;
    }

private:
    void end() noexcept {
        if (state_ != nullptr) BrotliEncoderDestroyInstance(std::exchange(state_, nullptr));
    }

    int quality_;
    int window_bits_;
    block_cache cache_;
    BrotliEncoderState* state_ = nullptr;
};

/// Memory for one brotli decoder, which asks for no more of a window than the content fills: the
/// size in the header alone says little. A window grows by a copy, beside which the one before, of
/// half its size, lives for a moment.
class decoder_memory {
public:
    explicit decoder_memory(std::uint64_t wanted) noexcept {
        const std::uint64_t window = std::clamp(wanted, least_window, largest_window);
        largest_ = std::max(window + beside_window, largest_table);
        most_ = window + window / 2 + tables + 2 * beside_window;
    }

    static void* allocate(void* self, std::size_t size) noexcept {
        return static_cast<decoder_memory*>(self)->take(size);
    }
    static void release(void* self, void* memory) noexcept {
        if (memory != nullptr) static_cast<decoder_memory*>(self)->give_back(memory);
    }

    std::size_t held() const noexcept { return held_; }
    /// Returns true if an allocation beyond the limit was refused.
    bool refused() const noexcept { return refused_; }
    bool failed() const noexcept { return failed_; }

private:
    /// Those that a header can ask for (RFC 7932 section 9.1), but for the smallest.
    static constexpr std::uint64_t least_window = 16 * 1024;
    static constexpr std::uint64_t largest_window = 16 * 1024 * 1024;
    /// The codes of one kind, in one allocation: 256 of 1,080 entries of 4 bytes, and a pointer to
    /// each.
    static constexpr std::uint64_t largest_table = 256 * (1080 * 4 + 8);
    /// The memory that the decoder allocates with the window, rounded up.
    static constexpr std::uint64_t beside_window = 4096;
    /// The most memory that the codes of a block take besides.
    static constexpr std::uint64_t tables = 2 * 1024 * 1024;
    static constexpr std::size_t header = alignof(std::max_align_t);

    void* take(std::size_t size) noexcept {
        if (size > largest_ || held_ + size > most_) {
            refused_ = true;
            return nullptr;
        }
        void* const memory = std::malloc(header + size);
        if (memory == nullptr) {
            failed_ = true;
            return nullptr;
        }
        ::new (memory) std::size_t(size);
        held_ += size;
        return static_cast<char*>(memory) + header;
    }
    void give_back(void* shown) noexcept {
        void* const memory = static_cast<char*>(shown) - header;
        held_ -= *static_cast<std::size_t*>(memory);
        std::free(memory);
    }

    std::uint64_t largest_ = 0;
    std::uint64_t most_ = 0;
    std::size_t held_ = 0;
    bool refused_ = false;
    bool failed_ = false;
};

class brotli_decoder final : public decoder_engine {
public:
    explicit brotli_decoder(std::uint64_t window)
        : memory_(window), state_(BrotliDecoderCreateInstance(&decoder_memory::allocate,
                                                              &decoder_memory::release, &memory_)) {
        if (state_ == nullptr) throw std::bad_alloc();
        BrotliDecoderSetParameter(state_, BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
    }
    ~brotli_decoder() override { BrotliDecoderDestroyInstance(state_); }
    brotli_decoder(const brotli_decoder&) = delete;
    brotli_decoder& operator=(const brotli_decoder&) = delete;

    decode_result decode(std::string_view in, std::span<char> out) override {
        if (complete()) {
            return {0, 0, in.empty() ? coding_error::none : coding_error::trailing_data};
        }
        std::size_t left = in.size();
        std::size_t room = out.size();
        auto* next_in = reinterpret_cast<const std::uint8_t*>(in.data());
        auto* next_out = reinterpret_cast<std::uint8_t*>(out.data());
        const BrotliDecoderResult status =
            BrotliDecoderDecompressStream(state_, &left, &next_in, &room, &next_out, nullptr);
        decode_result r{in.size() - left, out.size() - room, coding_error::none};
        if (status == BROTLI_DECODER_RESULT_ERROR)
            r.error = why_it_failed();
        else if (status == BROTLI_DECODER_RESULT_SUCCESS && left != 0)
            r.error = coding_error::trailing_data;
        return r;
    }

    bool complete() const noexcept override {
        return BrotliDecoderIsFinished(state_) == BROTLI_TRUE;
    }
    std::size_t memory() const noexcept override { return memory_.held(); }

private:
    coding_error why_it_failed() const noexcept {
        if (memory_.refused()) return coding_error::window_too_large;
        return memory_.failed() ? coding_error::no_memory : coding_error::corrupt;
    }

    decoder_memory memory_;
    BrotliDecoderState* state_;
};

}  // namespace

std::string version_of_brotli() {
    return std::to_string(BrotliEncoderVersion());
}

std::unique_ptr<encoder> make_brotli_encoder(encoder_level level) {
    auto made = std::make_unique<brotli_encoder>(level);
    made->begin(std::nullopt);
    return made;
}

std::unique_ptr<decoder_engine> make_brotli_decoder(std::uint64_t window) {
    return std::make_unique<brotli_decoder>(window);
}

}  // namespace coracle::coding
