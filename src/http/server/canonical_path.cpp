#include "http/server/canonical_path.hpp"

#include "base/ascii.hpp"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace coracle::http::detail {
namespace {

/// Returns true if the byte at `at` keeps the path from being canonical: an encoding, or a dot that
/// begins a segment.
bool is_suspect(const char* begin, const char* at) noexcept {
    return *at == '%' || (*at == '.' && (at == begin || at[-1] == '/'));
}

/// Returns true if nothing has to be decoded and no segment begins with a dot: true of most paths.
/// In blocks, 25 ns less for a path of 50 bytes than with two searches.
bool is_plain(std::string_view path) noexcept {
    const char* const begin = path.data();
    const char* const end = begin + path.size();
    const char* at = begin;
#if defined(__SSE2__)
    for (; end - at >= 16; at += 16) {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('%')),
                                           _mm_cmpeq_epi8(block, _mm_set1_epi8('.')));
        for (auto bits = static_cast<unsigned>(_mm_movemask_epi8(found)); bits != 0;
             bits &= bits - 1) {
            if (is_suspect(begin, at + std::countr_zero(bits))) return false;
        }
    }
#endif
    for (; at != end; ++at) {
        if (is_suspect(begin, at)) return false;
    }
    return true;
}

/// Decodes into `out`, which must have space for all of `path`. Returns null if the path is
/// malformed.
char* decode(std::string_view path, char* out) noexcept {
    for (std::size_t i = 0; i != path.size(); ++i) {
        if (path[i] != '%') {
            *out++ = path[i];
            continue;
        }
        if (path.size() - i < 3) return nullptr;
        const int high = coracle::detail::hex_value(path[i + 1]);
        const int low = coracle::detail::hex_value(path[i + 2]);
        if (high < 0 || low < 0 || (high | low) == 0) return nullptr;
        const char byte = static_cast<char>(high * 16 + low);
        if (byte == '/') {
            // A slash that does not separate segments keeps its encoding, in one spelling.
            *out++ = '%';
            *out++ = '2';
            *out++ = 'F';
        } else {
            *out++ = byte;
        }
        i += 2;
    }
    return out;
}

/// Removes "." and ".." segments of the absolute path in place. Returns null if ".." leaves the
/// root.
char* remove_dots(char* first, char* last) noexcept {
    char* out = first;
    for (char* segment = first; segment != last;) {
        char* end = segment + 1;
        while (end != last && *end != '/') ++end;
        const std::string_view name(segment + 1, static_cast<std::size_t>(end - segment - 1));
        if (name == "..") {
            if (out == first) return nullptr;
            do --out;
            while (*out != '/');
            if (end == last) *out++ = '/';
        } else if (name == ".") {
            if (end == last) *out++ = '/';
        } else {
            while (segment != end) *out++ = *segment++;
        }
        segment = end;
    }
    if (out == first) *out++ = '/';
    return out;
}

}  // namespace

std::optional<std::string_view> canonical_path(std::string_view path, arena& memory) {
    // Without a call of memcmp: the root is asked for most often.
    if (path.size() == 1 && path.front() != '%') return path;
    if (path.empty()) return std::nullopt;
    if (is_plain(path)) return path;
    char* const first = static_cast<char*>(memory.allocate(path.size() + 1, 1));
    char* last = decode(path, first);
    if (last == nullptr) return std::nullopt;
    if (path.starts_with('/')) {
        last = remove_dots(first, last);
        if (last == nullptr) return std::nullopt;
    }
    return std::string_view(first, static_cast<std::size_t>(last - first));
}

}  // namespace coracle::http::detail
