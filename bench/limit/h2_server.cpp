// The least server of HTTP/2 on nghttp2 and OpenSSL: epoll, one thread, nothing checked.
//
//   h2_server BYTES [CERTIFICATE KEY]
//
// Responds to "/" with 13 bytes and to every other path with BYTES zeros, once the request is
// whole; says "listening on http://127.0.0.1:PORT".

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr std::string_view small = "Hello, World!";
long long large = 0;
SSL_CTX* context = nullptr;
int poller = -1;
nghttp2_session_callbacks* callbacks = nullptr;

struct stream {
    long long left = 0;
    bool is_small = false;
};

struct connection {
    int fd = -1;
    SSL* ssl = nullptr;
    nghttp2_session* session = nullptr;
    std::uint8_t out[32 * 1024];
    std::size_t begin = 0;
    std::size_t end = 0;
    bool waits_to_write = false;

    // -1: it would block; 0: it is over.
    long io(bool writes, void* bytes, std::size_t size) {
        if (ssl == nullptr) {
            const ssize_t n =
                writes ? ::send(fd, bytes, size, MSG_NOSIGNAL) : ::recv(fd, bytes, size, 0);
            return n < 0 && errno != EAGAIN ? 0 : n;
        }
        const int n = writes ? SSL_write(ssl, bytes, static_cast<int>(size))
                             : SSL_read(ssl, bytes, static_cast<int>(size));
        if (n > 0) return n;
        const int why = SSL_get_error(ssl, n);
        return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? -1 : 0;
    }
};

ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* to, std::size_t size,
                  std::uint32_t* flags, nghttp2_data_source* source, void*) {
    auto& s = *static_cast<stream*>(source->ptr);
    const auto n = static_cast<std::size_t>(std::min(s.left, static_cast<long long>(size)));
    if (s.is_small) {
        std::memcpy(to, small.data() + small.size() - s.left, n);
    } else {
        std::memset(to, 0, n);
    }
    s.left -= static_cast<long long>(n);
    if (s.left == 0) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(n);
}

int head_began(nghttp2_session* session, const nghttp2_frame* frame, void*) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, new stream);
}

int header_came(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                std::size_t size, const std::uint8_t*, std::size_t value_size, std::uint8_t,
                void*) {
    if (size != 5 || std::memcmp(name, ":path", 5) != 0) return 0;
    auto* s =
        static_cast<stream*>(nghttp2_session_get_stream_user_data(session, frame->hd.stream_id));
    s->is_small = value_size == 1;
    s->left = s->is_small ? static_cast<long long>(small.size()) : large;
    return 0;
}

int frame_came(nghttp2_session* session, const nghttp2_frame* frame, void*) {
    const bool is_request = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (!is_request || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    static std::uint8_t status_name[] = ":status";
    static std::uint8_t status[] = "200";
    const nghttp2_nv fields[] = {
        {status_name, status, 7, 3, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE}};
    nghttp2_data_provider body{};
    body.source.ptr = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    body.read_callback = &read_body;
    return nghttp2_submit_response(session, frame->hd.stream_id, fields, 1, &body);
}

int stream_ended(nghttp2_session* session, std::int32_t id, std::uint32_t, void*) {
    delete static_cast<stream*>(nghttp2_session_get_stream_user_data(session, id));
    return 0;
}

void make_callbacks() {
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &head_began);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &header_came);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &frame_came);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &stream_ended);
}

void wait_for(connection& c, bool to_write) {
    if (c.waits_to_write == to_write) return;
    c.waits_to_write = to_write;
    epoll_event e{};
    e.events = EPOLLIN | (to_write ? EPOLLOUT : 0U);
    e.data.ptr = &c;
    epoll_ctl(poller, EPOLL_CTL_MOD, c.fd, &e);
}

// False: it is over.
bool write_all(connection& c) {
    for (;;) {
        while (c.end + 16'384 + 9 <= sizeof c.out) {
            const std::uint8_t* bytes = nullptr;
            const ssize_t n = nghttp2_session_mem_send(c.session, &bytes);
            if (n < 0) return false;
            if (n == 0) break;
            std::memcpy(c.out + c.end, bytes, static_cast<std::size_t>(n));
            c.end += static_cast<std::size_t>(n);
        }
        if (c.begin == c.end) break;
        const long n = c.io(true, c.out + c.begin, c.end - c.begin);
        if (n == 0) return false;
        if (n < 0) {
            wait_for(c, true);
            return true;
        }
        c.begin += static_cast<std::size_t>(n);
        if (c.begin == c.end) c.begin = c.end = 0;
    }
    wait_for(c, false);
    return nghttp2_session_want_read(c.session) != 0;
}

bool read_all(connection& c) {
    static std::uint8_t in[64 * 1024];
    for (;;) {
        const long n = c.io(false, in, sizeof in);
        if (n == 0) return false;
        if (n < 0) return true;
        if (nghttp2_session_mem_recv(c.session, in, static_cast<std::size_t>(n)) < 0) return false;
        if (c.ssl == nullptr && static_cast<std::size_t>(n) < sizeof in) return true;
    }
}

void accept_one(int listener) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto* c = new connection;
    c->fd = fd;
    if (context != nullptr) {
        c->ssl = SSL_new(context);
        SSL_set_fd(c->ssl, fd);
        SSL_set_accept_state(c->ssl);
    }
    nghttp2_session_server_new(&c->session, callbacks, c);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (1U << 20) - 1}};
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, (1 << 24) - 1);
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.ptr = c;
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
}

void close(connection* c) {
    nghttp2_session_del(c->session);
    if (c->ssl != nullptr) SSL_free(c->ssl);
    ::close(c->fd);
    delete c;
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* size, const unsigned char*,
                    unsigned int, void*) {
    *out = reinterpret_cast<const unsigned char*>("h2");
    *size = 2;
    return SSL_TLSEXT_ERR_OK;
}

int listen_somewhere() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(fd, 4096) != 0) {
        std::perror("listen");
        std::exit(1);
    }
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
    std::printf("listening on http://127.0.0.1:%d\n", ntohs(at.sin_port));
    std::fflush(stdout);
    return fd;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 4) {
        std::fputs("usage: h2_server BYTES [CERTIFICATE KEY]\n", stderr);
        return 2;
    }
    large = std::atoll(argv[1]);
    if (argc == 4) {
        context = SSL_CTX_new(TLS_server_method());
        SSL_CTX_use_certificate_chain_file(context, argv[2]);
        SSL_CTX_use_PrivateKey_file(context, argv[3], SSL_FILETYPE_PEM);
        SSL_CTX_set_alpn_select_cb(context, &choose_protocol, nullptr);
        SSL_CTX_set_mode(context,
                         SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_read_ahead(context, 1);
    }
    make_callbacks();
    const int listener = listen_somewhere();
    poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_event e{};
    e.events = EPOLLIN;
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
    for (;;) {
        epoll_event ready[64];
        const int n = epoll_wait(poller, ready, 64, -1);
        for (int i = 0; i < n; ++i) {
            auto* c = static_cast<connection*>(ready[i].data.ptr);
            if (c == nullptr) {
                accept_one(listener);
            } else if (!read_all(*c) || !write_all(*c)) {
                close(c);
            }
        }
    }
}
