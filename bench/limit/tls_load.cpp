// A client for the benchmarks of TLS, one connection after the other:
//   tls_load full ADDRESS COUNT       handshakes, each with one request
//   tls_load resumed ADDRESS COUNT    the same, each taking up the session of the one before
//   tls_load download ADDRESS TARGET COUNT   GETs of TARGET over one connection
//   tls_load idle ADDRESS COUNT       opens connections, sends one response on each, and holds them
//                                     until its input closes
//   tls_load memory ADDRESS COUNT CAFILE   the same, verified, each but the first taking up a
//                                     session; then says what it grew by: the least for OpenSSL
// Writes "begin" and "end" to standard error around what counts, and what it did to standard
// output.

#include "../support/sockets.hpp"
#include "../support/spent.hpp"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

struct freed {
    void operator()(SSL* s) const {
        const int fd = SSL_get_fd(s);
        // Else OpenSSL takes the session for a bad one, and never takes it up again.
        SSL_set_shutdown(s, SSL_SENT_SHUTDOWN);
        SSL_free(s);
        ::close(fd);
    }
    void operator()(SSL_SESSION* s) const { SSL_SESSION_free(s); }
};
using ssl_ptr = std::unique_ptr<SSL, freed>;

SSL_SESSION* newest = nullptr;

int remember(SSL*, SSL_SESSION* session) {
    SSL_SESSION_free(newest);
    newest = session;
    return 1;
}

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "tls_load: %s failed\n", what);
    std::exit(1);
}

void mark(const char* which) {
    std::fprintf(stderr, "%s\n", which);
}

SSL_CTX* make_context() {
    SSL_CTX* const c = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(c, remember);
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(c, 1);
    return c;
}

ssl_ptr connect_to(SSL_CTX* c, const char* address, bool resume) {
    const sockaddr_in to = bench::parse_address(address);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connecting");
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ssl_ptr s(SSL_new(c));
    SSL_set_fd(s.get(), fd);
    SSL_set_tlsext_host_name(s.get(), "localhost");
    if (resume && newest != nullptr) SSL_set_session(s.get(), newest);
    if (SSL_connect(s.get()) != 1) fail("the handshake");
    return s;
}

/// One GET; gives the bytes of its body.
long long get(SSL* s, const std::string& target) {
    const std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    if (SSL_write(s, request.data(), static_cast<int>(request.size())) <= 0) fail("sending");
    static char bytes[256 * 1024];
    std::size_t have = 0;
    const char* end = nullptr;
    while (end == nullptr) {
        const int n = SSL_read(s, bytes + have, static_cast<int>(sizeof bytes - have - 1));
        if (n <= 0) fail("receiving a head");
        have += static_cast<std::size_t>(n);
        bytes[have] = '\0';
        end = std::strstr(bytes, "\r\n\r\n");
    }
    if (std::strncmp(bytes, "HTTP/1.1 200 ", 13) != 0) fail("a response of 200");
    const char* const length = strcasestr(bytes, "content-length:");
    if (length == nullptr) fail("finding the length");
    const long long wanted = std::atoll(length + 15);
    long long got = static_cast<long long>(have) - (end + 4 - bytes);
    while (got < wanted) {
        const int n = SSL_read(s, bytes, sizeof bytes);
        if (n <= 0) fail("receiving a body");
        got += n;
    }
    return wanted;
}

void shake_hands(SSL_CTX* c, const char* address, long count, bool resume) {
    get(connect_to(c, address, false).get(), "/");
    long resumed = 0;
    mark("begin");
    for (long i = 0; i != count; ++i) {
        const ssl_ptr s = connect_to(c, address, resume);
        get(s.get(), "/");
        resumed += SSL_session_reused(s.get());
    }
    mark("end");
    std::printf("handshakes %ld resumed %ld\n", count, resumed);
}

void download(SSL_CTX* c, const char* address, const char* target, long count) {
    const ssl_ptr s = connect_to(c, address, false);
    get(s.get(), target);
    long long bytes = 0;
    mark("begin");
    for (long i = 0; i != count; ++i) bytes += get(s.get(), target);
    mark("end");
    std::printf("bytes %lld\n", bytes);
}

void hold(SSL_CTX* c, const char* address, long count) {
    std::vector<ssl_ptr> all;
    mark("begin");
    for (long i = 0; i != count; ++i) {
        all.push_back(connect_to(c, address, false));
        get(all.back().get(), "/");
    }
    mark("end");
    std::printf("connections %ld\n", count);
    std::fflush(stdout);
    char byte;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
}

void grow(SSL_CTX* c, const char* address, long count, const char* authorities) {
    if (SSL_CTX_load_verify_locations(c, authorities, nullptr) != 1) fail("reading CAFILE");
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
    std::vector<ssl_ptr> all;
    const bench::growth since_now;
    for (long i = 0; i != count; ++i) {
        all.push_back(connect_to(c, address, true));
        get(all.back().get(), "/");
        SSL_free_buffers(all.back().get());
    }
    since_now.print();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr,
                     "usage: tls_load full|resumed|idle ADDRESS COUNT\n"
                     "       tls_load memory ADDRESS COUNT CAFILE\n"
                     "       tls_load download ADDRESS TARGET COUNT\n");
        return 2;
    }
    const std::string mode = argv[1];
    SSL_CTX* const c = make_context();
    if (mode == "download")
        download(c, argv[2], argv[3], argc > 4 ? std::atol(argv[4]) : 1);
    else if (mode == "idle")
        hold(c, argv[2], std::atol(argv[3]));
    else if (mode == "memory" && argc > 4)
        grow(c, argv[2], std::atol(argv[3]), argv[4]);
    else
        shake_hands(c, argv[2], std::atol(argv[3]), mode == "resumed");
    SSL_SESSION_free(newest);
    SSL_CTX_free(c);
    return 0;
}
