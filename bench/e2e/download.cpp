// Downloads a URL and writes it to /dev/null, as `curl -o /dev/null` does: download URL [CAFILE]

#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

using namespace coracle;

namespace {

task<std::uint64_t> download(http::client& client, const char* url) {
    const int out = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    auto response = co_await client.get(url);
    std::uint64_t size = 0;
    for (;;) {
        const std::string_view piece = co_await response.read();
        if (piece.empty()) break;
        if (::write(out, piece.data(), piece.size()) < 0) break;
        size += piece.size();
    }
    ::close(out);
    co_return size;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: download URL [CAFILE]\n", stderr);
        return 2;
    }
    http::client_options options;
    if (argc > 2) options.certificates.authorities = argv[2];
    http::client client(options);
    try {
        const std::uint64_t size = block_on([&] { return download(client, argv[1]); });
        std::printf("bytes %llu\n", static_cast<unsigned long long>(size));
        return 0;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
