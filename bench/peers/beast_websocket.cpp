// WebSocket on Boost.Beast, with callbacks on one thread, as its documents advise for servers: "/"
// echoes, and what comes on "/all" goes to every connection of "/all".
//
//   beast_websocket 127.0.0.1:PORT

#include "../support/sockets.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;

class session;
std::vector<session*> all;  // of "/all"; one thread

using shared_text = std::shared_ptr<const std::string>;

class session : public std::enable_shared_from_this<session> {
public:
    explicit session(tcp::socket s) : ws_(std::move(s)) {
        beast::get_lowest_layer(ws_).socket().set_option(tcp::no_delay(true));
    }
    ~session() {
        if (of_all_) all.erase(std::find(all.begin(), all.end(), this));
    }

    void start() {
        http::async_read(ws_.next_layer(), buffer_, request_,
                         [self = shared_from_this()](beast::error_code failed, std::size_t) {
                             if (!failed) self->accept();
                         });
    }

private:
    void accept() {
        of_all_ = request_.target() == "/all";
        if (of_all_) all.push_back(this);
        websocket::permessage_deflate deflate;
        deflate.server_enable = true;
        deflate.server_no_context_takeover = true;
        deflate.client_no_context_takeover = true;
        ws_.set_option(deflate);
        ws_.auto_fragment(false);
        ws_.read_message_max(64 * 1024 * 1024);
        ws_.async_accept(request_, [self = shared_from_this()](beast::error_code failed) {
            self->request_ = {};
            if (!failed) self->read();
        });
    }

    void read() {
        ws_.async_read(buffer_, [self = shared_from_this()](beast::error_code failed, std::size_t) {
            if (!failed) self->take();
        });
    }

    void take() {
        if (of_all_) {
            const auto text =
                std::make_shared<const std::string>(beast::buffers_to_string(buffer_.data()));
            buffer_.consume(buffer_.size());
            for (session* s : all) s->put(text, ws_.got_text());
            read();
            return;
        }
        ws_.text(ws_.got_text());
        ws_.async_write(buffer_.data(),
                        [self = shared_from_this()](beast::error_code failed, std::size_t) {
                            self->buffer_.consume(self->buffer_.size());
                            if (!failed) self->read();
                        });
    }

    void put(shared_text text, bool is_text) {
        queue_.push_back(std::move(text));
        if (queue_.size() != 1) return;
        ws_.text(is_text);
        write();
    }

    void write() {
        ws_.async_write(asio::buffer(*queue_.front()),
                        [self = shared_from_this()](beast::error_code failed, std::size_t) {
                            if (failed) return;
                            self->queue_.pop_front();
                            if (!self->queue_.empty()) self->write();
                        });
    }

    websocket::stream<beast::tcp_stream> ws_;
    beast::flat_buffer buffer_;
    http::request<http::empty_body> request_;
    std::deque<shared_text> queue_;
    bool of_all_ = false;
};

void accept_next(tcp::acceptor& from) {
    from.async_accept([&from](beast::error_code failed, tcp::socket s) {
        if (!failed) std::make_shared<session>(std::move(s))->start();
        accept_next(from);
    });
}

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    asio::io_context context(1);
    tcp::acceptor acceptor(context);
    const int fd = bench::listen_and_announce(argc > 1 ? argv[1] : "127.0.0.1:7777", 0, "http");
    acceptor.assign(tcp::v4(), fd);
    accept_next(acceptor);
    context.run();
}
