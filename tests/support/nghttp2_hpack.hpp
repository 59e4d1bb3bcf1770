#pragma once

#include "support/hpack_blocks.hpp"

#include <nghttp2/nghttp2.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::h2::hpack {

namespace detail {

struct free_inflater {
    void operator()(nghttp2_hd_inflater* i) const noexcept { nghttp2_hd_inflate_del(i); }
};
struct free_deflater {
    void operator()(nghttp2_hd_deflater* d) const noexcept { nghttp2_hd_deflate_del(d); }
};

}  // namespace detail

/// One direction of a connection, as nghttp2 reads it; what `reader` calls "cut" is "failed" too.
class nghttp2_reader {
public:
    nghttp2_reader() {
        nghttp2_hd_inflater* made = nullptr;
        if (nghttp2_hd_inflate_new(&made) != 0) throw std::bad_alloc();
        inflater_.reset(made);
    }
    std::string read(std::string_view block) {
        const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
        std::size_t left = block.size();
        std::string text;
        for (;;) {
            nghttp2_nv f{};
            int flags = 0;
            const auto used = nghttp2_hd_inflate_hd2(inflater_.get(), &f, &flags, at, left, 1);
            if (used < 0) return text + "failed";
            at += used;
            left -= static_cast<std::size_t>(used);
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
                text.append(reinterpret_cast<const char*>(f.name), f.namelen).append(": ");
                text.append(reinterpret_cast<const char*>(f.value), f.valuelen).append("\n");
            }
            if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
            if (left == 0 && (flags & NGHTTP2_HD_INFLATE_EMIT) == 0) return text + "failed";
        }
        nghttp2_hd_inflate_end_headers(inflater_.get());
        return text;
    }

private:
    std::unique_ptr<nghttp2_hd_inflater, detail::free_inflater> inflater_;
};

/// One direction of a connection, as nghttp2 writes it.
class nghttp2_writer {
public:
    nghttp2_writer() {
        nghttp2_hd_deflater* made = nullptr;
        if (nghttp2_hd_deflate_new(&made, 4096) != 0) throw std::bad_alloc();
        deflater_.reset(made);
    }
    void set_limit(std::size_t n) { nghttp2_hd_deflate_change_table_size(deflater_.get(), n); }
    std::string write(const fields& all) {
        std::vector<nghttp2_nv> lines;
        for (const auto& [name, value] : all) {
            const auto bytes = [](const std::string& text) {
                return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
            };
            lines.push_back({bytes(name), bytes(value), name.size(), value.size(), 0});
        }
        std::string out(nghttp2_hd_deflate_bound(deflater_.get(), lines.data(), lines.size()),
                        '\0');
        const auto size =
            nghttp2_hd_deflate_hd(deflater_.get(), reinterpret_cast<std::uint8_t*>(out.data()),
                                  out.size(), lines.data(), lines.size());
        if (size < 0) throw std::bad_alloc();
        out.resize(static_cast<std::size_t>(size));
        return out;
    }

private:
    std::unique_ptr<nghttp2_hd_deflater, detail::free_deflater> deflater_;
};

}  // namespace coracle::http::h2::hpack
