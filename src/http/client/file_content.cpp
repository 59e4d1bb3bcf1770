#include "http/client/file_content.hpp"

#include <coracle/fs/plain_file.hpp>

#include <utility>

namespace coracle::http::detail {
namespace {

/// Reads to the end, in pieces: such files have no size to ask for.
std::expected<std::string, error> read_unsized(const fs::plain_file& from) {
    constexpr std::size_t piece = 64 * 1024;
    std::string all;
    while (all.size() <= most_of_unsized_file) {
        const std::size_t had = all.size();
        all.resize(had + piece);
        const auto got = from.read_at(had, std::span(all).subspan(had));
        if (!got) return std::unexpected(got.error());
        all.resize(had + *got);
        if (*got != piece) return all;
    }
    return std::unexpected(error(std::errc::file_too_large, "read"));
}

}  // namespace

std::expected<file_content, error> open_content(const std::string& path) {
    auto opened = fs::open_file(path);
    if (!opened) return std::unexpected(std::move(opened).error());
    if (opened->status().kind == file_kind::directory) {
        return std::unexpected(error(std::errc::is_a_directory, "open").on(path));
    }
    file_content content;
    const std::uint64_t size = opened->status().size;
    if (size == 0) {
        auto text = read_unsized(*opened);
        if (!text) return std::unexpected(std::move(text).error().on(path));
        content.text = *std::move(text);
    } else {
        content.file = file_range(opened->release(), 0, size);
    }
    return content;
}

}  // namespace coracle::http::detail
