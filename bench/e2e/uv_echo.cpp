// TCP echo on libuv, one loop: uv_echo 127.0.0.1:PORT
//
// The cheapest way that libuv offers: one buffer for all reads, and a write that is tried at once;
// only what the socket does not take is copied and queued.

#include "../support/sockets.hpp"

#include <uv.h>

#include <cstring>
#include <memory>
#include <vector>

namespace {

char shared_buffer[65536];

void give_buffer(uv_handle_t*, std::size_t, uv_buf_t* into) {
    *into = uv_buf_init(shared_buffer, sizeof shared_buffer);
}

void close_peer(uv_stream_t* peer) {
    auto* handle = reinterpret_cast<uv_handle_t*>(peer);
    if (uv_is_closing(handle) != 0) return;
    uv_close(handle, [](uv_handle_t* h) { delete reinterpret_cast<uv_tcp_t*>(h); });
}

struct queued_write {
    uv_write_t request;
    std::vector<char> bytes;
};

void write_rest(uv_stream_t* peer, const char* data, std::size_t size) {
    auto rest = std::make_unique<queued_write>(queued_write{{}, {data, data + size}});
    rest->request.data = rest.get();
    uv_buf_t whole = uv_buf_init(rest->bytes.data(), static_cast<unsigned>(rest->bytes.size()));
    const int result = uv_write(&rest->request, peer, &whole, 1, [](uv_write_t* w, int status) {
        if (status < 0) close_peer(w->handle);
        delete static_cast<queued_write*>(w->data);
    });
    if (result == 0) {
        static_cast<void>(rest.release());
    } else {
        close_peer(peer);
    }
}

void echo(uv_stream_t* peer, ssize_t size, const uv_buf_t* from) {
    if (size == 0) return;
    if (size < 0) {
        close_peer(peer);
        return;
    }
    uv_buf_t bytes = uv_buf_init(from->base, static_cast<unsigned>(size));
    int sent = uv_try_write(peer, &bytes, 1);
    if (sent == size) return;
    if (sent < 0 && sent != UV_EAGAIN) {
        close_peer(peer);
        return;
    }
    if (sent < 0) sent = 0;
    write_rest(peer, from->base + sent, static_cast<std::size_t>(size - sent));
}

void accept_one(uv_stream_t* listener, int status) {
    if (status < 0) return;
    auto peer = std::make_unique<uv_tcp_t>();
    uv_tcp_init(listener->loop, peer.get());
    auto* stream = reinterpret_cast<uv_stream_t*>(peer.release());
    if (uv_accept(listener, stream) != 0) {
        close_peer(stream);
        return;
    }
    uv_read_start(stream, give_buffer, echo);
}

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const char* where = argc > 1 ? argv[1] : "127.0.0.1:7777";
    uv_loop_t* loop = uv_default_loop();
    uv_tcp_t listener;
    uv_tcp_init(loop, &listener);
    if (uv_tcp_open(&listener, bench::listen_and_announce(where, SOCK_NONBLOCK, "tcp")) != 0 ||
        uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 16384, accept_one) != 0) {
        bench::fail("uv_listen");
    }
    return uv_run(loop, UV_RUN_DEFAULT);
}
