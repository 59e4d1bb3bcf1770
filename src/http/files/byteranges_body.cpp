#include "http/files/byteranges_body.hpp"

#include <coracle/runtime/task.hpp>

namespace coracle::http::detail {
namespace {

// A failed write ends the connection, so the client sees that the body is not whole.
task<> write_parts(const byteranges& all, const file_range& file, body_writer& to) {
    const multipart_byteranges framing = all.framing();
    std::string text;
    for (std::size_t i = 0; i != all.plan.count; ++i) {
        const content_range& part = all.plan.list[i];
        text = framing.part_head(i);
        auto written = co_await as_result(to.write(text));
        if (!written) co_return;
        written = co_await as_result(to.write_file(file.fd(), part.first, part.size()));
        if (!written) co_return;
    }
    text = framing.end();
    [[maybe_unused]] const auto ended = co_await as_result(to.write(text));
}

}  // namespace

body byteranges_of_file(byteranges all, file_range file) {
    auto owned = std::make_unique<const byteranges>(std::move(all));
    const std::uint64_t total = owned->framing().total_size();
    auto write = [owned = std::move(owned), file = std::move(file)](body_writer& to) {
        return write_parts(*owned, file, to);
    };
    return body::stream(std::move(write), total);
}

body byteranges_of_bytes(const byteranges& all, std::string_view bytes) {
    const multipart_byteranges framing = all.framing();
    std::string text;
    text.reserve(static_cast<std::size_t>(framing.total_size()));
    for (std::size_t i = 0; i != all.plan.count; ++i) {
        const content_range& part = all.plan.list[i];
        text += framing.part_head(i);
        text += bytes.substr(static_cast<std::size_t>(part.first),
                             static_cast<std::size_t>(part.size()));
    }
    text += framing.end();
    return body(std::move(text));
}

}  // namespace coracle::http::detail
