// The least client of HTTP/2 on nghttp2 and OpenSSL: one connection, blocking, that drops what it
// gets.
//
//   h2_client ADDRESS:PORT tls|clear PATH REQUESTS STREAMS [WINDOW_BITS [slow]]
//
// Keeps STREAMS requests in flight until REQUESTS have ended, and says "N of N ended with 200" and
// "bytes B". With `slow` there is one stream more, whose window is never given back: what it costs
// the others is what a reader that has stopped costs. It verifies no certificate.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

class connection {
public:
    connection(const std::string& address, bool tls) : fd_(dial(address)) {
        if (!tls) return;
        SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
        static const unsigned char h2[] = {2, 'h', '2'};
        SSL_CTX_set_alpn_protos(context, h2, sizeof h2);
        SSL_CTX_set_read_ahead(context, 1);
        SSL_CTX_set_default_read_buffer_len(context, 64 * 1024);
        ssl_ = SSL_new(context);
        SSL_set_fd(ssl_, fd_);
        if (SSL_connect(ssl_) != 1) fail("SSL_connect");
    }

    std::size_t read(std::uint8_t* to, std::size_t size) {
        const auto n =
            ssl_ != nullptr ? SSL_read(ssl_, to, static_cast<int>(size)) : ::recv(fd_, to, size, 0);
        if (n <= 0) fail("the connection ended");
        return static_cast<std::size_t>(n);
    }
    void write(const std::uint8_t* from, std::size_t size) {
        while (size != 0) {
            const auto n = ssl_ != nullptr ? SSL_write(ssl_, from, static_cast<int>(size))
                                           : ::send(fd_, from, size, MSG_NOSIGNAL);
            if (n <= 0) fail("send");
            from += n;
            size -= static_cast<std::size_t>(n);
        }
    }

private:
    static int dial(const std::string& address) {
        const std::size_t colon = address.rfind(':');
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
        inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fail("connect");
        return fd;
    }

    int fd_;
    SSL* ssl_ = nullptr;
};

struct load {
    std::string authority;
    std::string path;
    const char* scheme = "http";
    long wanted = 0;
    long begun = 0;
    long ended = 0;
    long good = 0;
    long long bytes = 0;
    std::int32_t slow = -1;
    nghttp2_session* session = nullptr;

    std::int32_t begin() {
        const auto pair = [](const char* name, const char* value) {
            return nghttp2_nv{reinterpret_cast<std::uint8_t*>(const_cast<char*>(name)),
                              reinterpret_cast<std::uint8_t*>(const_cast<char*>(value)),
                              std::strlen(name), std::strlen(value),
                              NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
        };
        const nghttp2_nv fields[] = {pair(":method", "GET"), pair(":scheme", scheme),
                                     pair(":authority", authority.c_str()),
                                     pair(":path", path.c_str())};
        return nghttp2_submit_request(session, nullptr, fields, 4, nullptr, nullptr);
    }
};

load& of(void* user) {
    return *static_cast<load*>(user);
}

int header_came(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t size,
                const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    const bool is_status = size == 7 && std::memcmp(name, ":status", 7) == 0;
    if (is_status && value_size == 3 && std::memcmp(value, "200", 3) == 0) ++of(user).good;
    return 0;
}

int data_came(nghttp2_session* session, std::uint8_t, std::int32_t stream, const std::uint8_t*,
              std::size_t size, void* user) {
    load& l = of(user);
    if (stream == l.slow) return nghttp2_session_consume_connection(session, size);
    l.bytes += static_cast<long long>(size);
    return nghttp2_session_consume(session, stream, size);
}

int stream_ended(nghttp2_session*, std::int32_t, std::uint32_t, void* user) {
    load& l = of(user);
    ++l.ended;
    if (l.begun < l.wanted) {
        ++l.begun;
        l.begin();
    }
    return 0;
}

nghttp2_session* make_session(load& l) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &header_came);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &data_came);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &stream_ended);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session* session = nullptr;
    nghttp2_session_client_new2(&session, callbacks, &l, option);
    return session;
}

void send_all(nghttp2_session* session, connection& to) {
    static std::uint8_t out[64 * 1024];
    std::size_t held = 0;
    for (;;) {
        const std::uint8_t* bytes = nullptr;
        const ssize_t n = nghttp2_session_mem_send(session, &bytes);
        if (n <= 0) break;
        const auto size = static_cast<std::size_t>(n);
        if (held + size > sizeof out) {
            to.write(out, held);
            held = 0;
        }
        std::memcpy(out + held, bytes, size);
        held += size;
    }
    to.write(out, held);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fputs("usage: h2_client ADDRESS:PORT tls|clear PATH REQUESTS STREAMS [BITS [slow]]\n",
                   stderr);
        return 2;
    }
    const bool tls = std::strcmp(argv[2], "tls") == 0;
    load l;
    l.authority = argv[1];
    l.path = argv[3];
    if (tls) l.scheme = "https";
    l.wanted = std::atol(argv[4]);
    const long streams = std::atol(argv[5]);
    const auto window = (std::int32_t{1} << (argc > 6 ? std::atoi(argv[6]) : 30)) - 1;

    connection to(argv[1], tls);
    l.session = make_session(l);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(window)}};
    nghttp2_submit_settings(l.session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(l.session, NGHTTP2_FLAG_NONE, 0, (1 << 30) - 1);
    if (argc > 7) l.slow = l.begin();
    for (; l.begun < l.wanted && l.begun < streams; ++l.begun) l.begin();

    static std::uint8_t in[64 * 1024];
    while (l.ended < l.wanted) {
        send_all(l.session, to);
        const std::size_t n = to.read(in, sizeof in);
        if (nghttp2_session_mem_recv(l.session, in, n) < 0) fail("a malformed frame");
    }
    const long good = l.good - (l.slow >= 0 ? 1 : 0);
    std::printf("%ld of %ld ended with 200\nbytes %lld\n", good, l.wanted, l.bytes);
    return good == l.wanted ? 0 : 1;
}
