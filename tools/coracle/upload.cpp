#include "upload.hpp"

#include "input_file.hpp"
#include "settings.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/fs/plain_file.hpp>
#include <coracle/io/descriptor_stream.hpp>
#include <coracle/io/standard_streams.hpp>
#include <coracle/runtime/loop.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle::tool {
namespace {

bool is_standard_input(std::string_view path) noexcept {
    return path == "-" || path == ".";
}

[[noreturn]] void fail(const std::string& path, const std::error_code& why) {
    throw unreadable("cannot read '" + path + "': " + why.message());
}

/// Nothing of what is no regular file.
fs::plain_file open_regular(const std::string& path) {
    if (is_standard_input(path)) return {};
    if (is_pipe(path)) return {};
    auto f = fs::open_file(path);
    if (!f) fail(path, f.error().code());
    if (f->status().kind == file_kind::directory) {
        fail(path, std::make_error_code(std::errc::is_a_directory));
    }
    return *std::move(f);
}

std::unique_ptr<io::descriptor_stream> open_stream(const std::string& path) {
    std::expected<std::unique_ptr<io::descriptor_stream>, error> opened;
    if (is_standard_input(path)) {
        opened = io::standard_input();
    } else {
        owned_fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        if (!fd) {
            error e(std::error_code(errno, std::generic_category()), "open");
            throw_exception(std::move(e.on(path)));
        }
        opened = io::descriptor_stream::adopt(*loop::current(), std::move(fd), path);
    }
    if (!opened) throw_exception(std::move(opened).error());
    // Else its end may be there before its writer is.
    std::error_code absent;
    if (std::filesystem::is_fifo(path, absent)) (*opened)->wait_before_reading();
    return *std::move(opened);
}

task<> send_all(const std::string& path, http::body_writer& out) {
    const auto from = open_stream(path);
    for (;;) {
        auto receiving = from->receive();
        const auto piece = co_await as_result(receiving);
        if (!piece && piece.error() == errc::end_of_stream) co_return;
        if (!piece) {
            error e(piece.error().code(), "read", phase::send);
            throw_exception(std::move(e.on(path)));
        }
        co_await out.write(piece->view());
    }
}

}  // namespace

void check_upload(const std::string& path) {
    if (is_standard_input(path)) use_standard_input();
    static_cast<void>(open_regular(path));
}

std::string upload_url(const std::string& url, const std::string& path) {
    if (is_standard_input(path)) return url;
    const std::size_t end = std::min(url.find_first_of("?#"), url.size());
    std::string to = url.substr(0, end);
    if (to.find('/', to.find("://") + 3) == std::string::npos) to += '/';
    if (!to.ends_with('/')) return url;
    return to + percent_encode(path.substr(path.rfind('/') + 1)) + url.substr(end);
}

http::body upload_body(const std::string& path) {
    fs::plain_file f = open_regular(path);
    if (f.open()) {
        const std::uint64_t size = f.status().size;
        // As files of /proc do that are not empty.
        if (size == 0) return http::body(content_of(path));
        return http::body::file(http::file_range(f.release(), 0, size));
    }
    const auto send = [path](http::body_writer& out) { return send_all(path, out); };
    return http::body::stream(send);
}

}  // namespace coracle::tool
