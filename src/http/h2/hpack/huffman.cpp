#include "http/h2/hpack/huffman.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace coracle::http::h2::hpack {

namespace {

constexpr unsigned end_of_string = 256;
constexpr unsigned longest = 30;
constexpr unsigned quick = 8;  ///< bits that a step looks up; the codes of usual characters fit

// The sizes of the codes in bits (RFC 7541 appendix B). The codes follow from them: of the same
// size they are numbered in the order of their bytes.
constexpr std::array<std::uint8_t, 257> sizes = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6,  10, 10, 12, 13, 6,  8,  11, 10, 10, 8,  11, 8,  6,  6,  6,
    5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8,  15, 6,  12, 10, 13, 6,  7,  7,  7,  7,  7,  7,
    7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8,  13, 19, 13, 14, 6,
    15, 5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  6,  7,  6,  5,  5,  6,  7,  7,
    7,  7,  7,  15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30};

struct symbol {
    std::uint16_t value = 0;
    std::uint8_t size = 0;  ///< of its code; 0: it is longer than `quick`
};

struct code_book {
    std::array<std::uint32_t, 257> codes{};
    std::array<symbol, 1U << quick> quick_symbols{};
    // For the others: those of a size are numbered from `first` on, and stand in `in_order` from
    // `begin` on. `beyond` is the first code behind them, as the highest bits of 32.
    std::array<std::uint32_t, longest + 1> first{};
    std::array<std::uint32_t, longest + 1> beyond{};
    std::array<std::uint16_t, longest + 1> begin{};
    std::array<std::uint16_t, 257> in_order{};
};

consteval code_book make_code_book() {
    code_book book;
    std::uint32_t code = 0;
    std::uint16_t at = 0;
    for (unsigned size = 1; size <= longest; ++size) {
        code <<= 1;
        book.first[size] = code;
        book.begin[size] = at;
        for (unsigned s = 0; s != sizes.size(); ++s) {
            if (sizes[s] != size) continue;
            book.codes[s] = code;
            book.in_order[at++] = static_cast<std::uint16_t>(s);
            if (size <= quick) {
                const unsigned rest = quick - size;
                for (unsigned low = 0; low != 1U << rest; ++low) {
                    book.quick_symbols[code << rest | low] = {static_cast<std::uint16_t>(s),
                                                              static_cast<std::uint8_t>(size)};
                }
            }
            ++code;
        }
        const std::uint64_t beyond = std::uint64_t{code} << (32 - size);
        book.beyond[size] = beyond > 0xffffffff ? 0xffffffff : static_cast<std::uint32_t>(beyond);
    }
    return book;
}

constexpr code_book book = make_code_book();

// The codes of 32 ones do not occur, so that the highest limit need not hold them.
symbol find_long(std::uint64_t bits) noexcept {
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    unsigned size = quick + 1;
    while (size < longest && high >= book.beyond[size]) ++size;
    const std::uint32_t number = (high >> (32 - size)) - book.first[size];
    return {book.in_order[book.begin[size] + number], static_cast<std::uint8_t>(size)};
}

}  // namespace

std::size_t huffman_size(std::string_view text) noexcept {
    std::size_t bits = 0;
    for (const char c : text) bits += sizes[static_cast<unsigned char>(c)];
    return (bits + 7) / 8;
}

char* huffman_encode(char* out, std::string_view text) noexcept {
    std::uint64_t bits = 0;  // the lowest `count` are not written yet
    unsigned count = 0;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        bits = bits << sizes[byte] | book.codes[byte];
        count += sizes[byte];
        if (count >= 32) {
            count -= 32;
            auto whole = static_cast<std::uint32_t>(bits >> count);
            if constexpr (std::endian::native == std::endian::little) {
                whole = std::byteswap(whole);
            }
            std::memcpy(out, &whole, sizeof whole);
            out += sizeof whole;
        }
    }
    // Up to the next byte there are ones, as in the begin of EOS.
    const unsigned padding = (8 - count % 8) % 8;
    bits = bits << padding | ((1U << padding) - 1);
    for (count += padding; count != 0;) {
        count -= 8;
        *out++ = static_cast<char>(bits >> count);
    }
    return out;
}

char* huffman_decoder::decode(std::string_view piece, char* out) noexcept {
    std::uint64_t bits = count_ == 0 ? 0 : bits_;
    unsigned count = count_;
    const char* at = piece.data();
    const char* const end = at + piece.size();
    for (;;) {
        while (count <= 56 && at != end) {
            bits |= std::uint64_t{static_cast<unsigned char>(*at++)} << (56 - count);
            count += 8;
        }
        symbol s = book.quick_symbols[bits >> (64 - quick)];
        if (s.size == 0) s = find_long(bits);
        if (s.size > count) break;
        if (s.value == end_of_string) return nullptr;
        *out++ = static_cast<char>(s.value);
        bits <<= s.size;
        count -= s.size;
    }
    bits_ = bits;
    count_ = count;
    return out;
}

bool huffman_decoder::ends_well() const noexcept {
    if (count_ == 0) return true;
    return count_ < 8 && bits_ >> (64 - count_) == (1U << count_) - 1;
}

}  // namespace coracle::http::h2::hpack
