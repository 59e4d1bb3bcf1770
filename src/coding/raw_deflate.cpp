#include "coding/raw_deflate.hpp"

#include "base/thread_kept.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

namespace coracle::coding {
namespace {

constexpr int memory_level = 8;
/// zlib counts with 32 bits.
constexpr std::size_t most_at_once = std::size_t{1} << 30;

void lend(z_stream& z, std::string_view in, std::span<char> out) noexcept {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    z.avail_in = static_cast<uInt>(std::min(in.size(), most_at_once));
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(std::min(out.size(), most_at_once));
}

/// Codecs that a thread keeps.
struct idle_codecs {
    std::array<std::unique_ptr<raw_deflater>, most_raw_kept> deflaters;
    std::array<std::unique_ptr<raw_inflater>, most_raw_kept> inflaters;
};

/// Null at the end of the thread.
idle_codecs* idle() noexcept {
    return coracle::detail::thread_kept<idle_codecs>();
}

}  // namespace

struct raw_deflater::state {
    z_stream z{};
};

raw_deflater::raw_deflater(int window_bits, int level)
    : state_(std::make_unique<state>()), window_bits_(window_bits), level_(level) {
    if (deflateInit2(&state_->z, level, Z_DEFLATED, -window_bits, memory_level,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::bad_alloc();
    }
}

raw_deflater::~raw_deflater() {
    deflateEnd(&state_->z);
}

void raw_deflater::reset() noexcept {
    deflateReset(&state_->z);
}

encode_result raw_deflater::encode(std::string_view in, std::span<char> out,
                                   encode_action action) noexcept {
    z_stream& z = state_->z;
    const bool all = in.size() <= most_at_once;
    lend(z, in, out);
    const uInt given = z.avail_in;
    const uInt room = z.avail_out;
    const bool flushes = all && action != encode_action::process;
    deflate(&z, flushes ? Z_SYNC_FLUSH : Z_NO_FLUSH);
    encode_result r{given - z.avail_in, room - z.avail_out, false};
    r.done = all && z.avail_in == 0 && (!flushes || z.avail_out != 0);
    return r;
}

struct raw_inflater::state {
    z_stream z{};
    bool ended = false;
};

raw_inflater::raw_inflater(int window_bits) : state_(std::make_unique<state>()) {
    if (inflateInit2(&state_->z, -window_bits) != Z_OK) throw std::bad_alloc();
}

raw_inflater::~raw_inflater() {
    inflateEnd(&state_->z);
}

void raw_inflater::reset() noexcept {
    inflateReset(&state_->z);
    state_->ended = false;
}

/// RFC 7692 section 7.2.3.4: a sender may set BFINAL, and blocks follow all the same. The window is
/// neither copied nor dropped, or each empty last block, of two bytes, would cost 64 KiB of
/// copying.
bool raw_inflater::go_on_after_end() noexcept {
    if (inflateResetKeep(&state_->z) != Z_OK) return false;
    state_->ended = false;
    return true;
}

decode_result raw_inflater::decode(std::string_view in, std::span<char> out) noexcept {
    z_stream& z = state_->z;
    decode_result r;
    while (r.produced != out.size() && (r.consumed != in.size() || r.consumed == 0)) {
        if (state_->ended) {
            if (r.consumed == in.size()) break;
            if (!go_on_after_end()) {
                r.error = coding_error::corrupt;
                break;
            }
        }
        lend(z, in.substr(r.consumed), out.subspan(r.produced));
        const uInt given = z.avail_in;
        const uInt room = z.avail_out;
        const int status = inflate(&z, Z_SYNC_FLUSH);
        r.consumed += given - z.avail_in;
        r.produced += room - z.avail_out;
        if (status == Z_STREAM_END) {
            state_->ended = true;
        } else if (status == Z_MEM_ERROR) {
            r.error = coding_error::no_memory;
        } else if (status != Z_OK && status != Z_BUF_ERROR) {
            r.error = coding_error::corrupt;
        }
        const bool moved = given != z.avail_in || room != z.avail_out;
        if (r.error != coding_error::none || !moved) break;
    }
    return r;
}

std::unique_ptr<raw_deflater> take_raw_deflater(int window_bits, int level) {
    level = std::clamp(level, Z_BEST_SPEED, Z_BEST_COMPRESSION);
    idle_codecs* const of_thread = idle();
    if (of_thread == nullptr) return std::make_unique<raw_deflater>(window_bits, level);
    for (auto& kept : of_thread->deflaters) {
        if (kept == nullptr || kept->window_bits() != window_bits || kept->level() != level) {
            continue;
        }
        kept->reset();
        return std::move(kept);
    }
    return std::make_unique<raw_deflater>(window_bits, level);
}

std::unique_ptr<raw_inflater> take_raw_inflater() {
    idle_codecs* const of_thread = idle();
    if (of_thread == nullptr) return std::make_unique<raw_inflater>();
    for (auto& kept : of_thread->inflaters) {
        if (kept == nullptr) continue;
        kept->reset();
        return std::move(kept);
    }
    return std::make_unique<raw_inflater>();
}

void give_back(std::unique_ptr<raw_deflater> d) noexcept {
    idle_codecs* const of_thread = idle();
    if (of_thread == nullptr) return;
    for (auto& place : of_thread->deflaters) {
        if (place == nullptr) {
            place = std::move(d);
            return;
        }
    }
    // Those that were kept have another window or level; the one used now is used again.
    of_thread->deflaters.front() = std::move(d);
}

void give_back(std::unique_ptr<raw_inflater> i) noexcept {
    idle_codecs* const of_thread = idle();
    if (of_thread == nullptr) return;
    for (auto& place : of_thread->inflaters) {
        if (place == nullptr) {
            place = std::move(i);
            return;
        }
    }
}

}  // namespace coracle::coding
