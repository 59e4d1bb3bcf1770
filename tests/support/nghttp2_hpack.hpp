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
    /// Calls `use` with the name and value of each field. Returns false if the block is none.
    template <class Use>
    bool read(std::string_view block, Use use) {
        const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
        std::size_t left = block.size();
        for (;;) {
            nghttp2_nv f{};
            int flags = 0;
            const auto used = nghttp2_hd_inflate_hd2(inflater_.get(), &f, &flags, at, left, 1);
            if (used < 0) return false;
            at += used;
            left -= static_cast<std::size_t>(used);
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
                use(std::string_view(reinterpret_cast<const char*>(f.name), f.namelen),
                    std::string_view(reinterpret_cast<const char*>(f.value), f.valuelen));
            }
            if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
            if (left == 0 && (flags & NGHTTP2_HD_INFLATE_EMIT) == 0) return false;
        }
        nghttp2_hd_inflate_end_headers(inflater_.get());
        return true;
    }
    std::string read(std::string_view block) {
        std::string text;
        const bool whole = read(block, [&](std::string_view name, std::string_view value) {
            text.append(name).append(": ").append(value).append("\n");
        });
        return whole ? text : text + "failed";
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
    /// Writes a block; it is valid until the next one.
    std::string_view write(const fields& all) {
        lines_.clear();
        for (const auto& [name, value] : all) lines_.push_back(line_of(name, value));
        const auto room = nghttp2_hd_deflate_bound(deflater_.get(), lines_.data(), lines_.size());
        if (out_.size() < room) out_.resize(room);
        const auto size =
            nghttp2_hd_deflate_hd(deflater_.get(), reinterpret_cast<std::uint8_t*>(out_.data()),
                                  out_.size(), lines_.data(), lines_.size());
        if (size < 0) throw std::bad_alloc();
        return std::string_view(out_).substr(0, static_cast<std::size_t>(size));
    }

private:
    static nghttp2_nv line_of(const std::string& name, const std::string& value) {
        const auto bytes = [](const std::string& text) {
            return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
        };
        unsigned flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE;
        if (name == "cookie") flags |= NGHTTP2_NV_FLAG_NO_INDEX;
        return {bytes(name), bytes(value), name.size(), value.size(),
                static_cast<std::uint8_t>(flags)};
    }

    std::vector<nghttp2_nv> lines_;
    std::string out_;
    std::unique_ptr<nghttp2_hd_deflater, detail::free_deflater> deflater_;
};

}  // namespace coracle::http::h2::hpack
