// The program that the tests of this folder keep busy: a server and a client in one, which sends
// everything on to BASE, over HTTP/1.1 or with "h2" over HTTP/2; which sends what is posted as mail
// where BASE is a mail server; or with "-" a server that reads what is posted and says how many
// bytes that was: soak_relay ADDRESS LOOPS BASE [h2]

#include <coracle/http/forward.hpp>
#include <coracle/http/server.hpp>
#include <coracle/smtp/client.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

using namespace coracle;

namespace {

// The bytes of a known pattern, and where it is broken.
task<http::response> count(http::request& req) {
    std::uint64_t n = 0;
    std::uint64_t wrong = 0;
    for (;;) {
        const std::string_view piece = co_await req.body().read();
        if (piece.empty()) break;
        for (const char byte : piece) {
            wrong += static_cast<unsigned char>(byte) != n % 251;
            ++n;
        }
    }
    co_return std::to_string(n) + " bytes, " + std::to_string(wrong) + " wrong\n";
}

// Attaches what is posted to a mail, and gives the reply of the mail server.
http::handler send_to(smtp::client& mail) {
    return [&mail](http::request& req) -> task<http::response> {
        std::string content = co_await req.body().text();
        smtp::message m;
        m.from("a@x.org").to("b@y.org").subject("soak").text("See the attachment.\n");
        m.attach("posted.bin", std::move(content));
        const smtp::receipt sent = co_await mail.send(m);
        co_return sent.reply.to_string() + '\n';
    };
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::cerr << "usage: soak_relay ADDRESS LOOPS BASE [h2]\n";
        return 2;
    }
    http::client_options plain;
    plain.proxy_from_environment = false;
    if (argc > 4) plain.http_version = http::version_choice::http_2;
    http::client client(plain);
    http::server_options options;
    options.listen = argv[1];
    options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    const std::string_view base = argv[3];
    if (base.starts_with("smtp:")) {
        smtp::client mail(base);
        http::serve(send_to(mail), options);
    } else if (base == "-") {
        http::serve(http::handler(&count), options);
    } else {
        http::serve(http::forward_to(client, base), options);
    }
}
