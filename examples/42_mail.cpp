// Sends a mail with an attachment, signed where there is a key: `mail smtp://localhost:2525
// to@example.org [FILE [DOMAIN SELECTOR KEY]]`. User and password stand in the URL, or in
// CORACLE_SMTP_AUTHENTICATION_USER and CORACLE_SMTP_AUTHENTICATION_SECRET.

#include <coracle/runtime/runtime.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/smtp/client_settings.hpp>

#include <iostream>

using namespace coracle;

int main(int argc, char** argv) {
    if (argc < 3) {
        std::cerr << "usage: mail URL RECIPIENTS [FILE [DOMAIN SELECTOR KEY]]\n";
        return 2;
    }
    smtp::client_options options;
    if (auto read = smtp::read_environment_options(options); !read) {
        std::cerr << read.error() << '\n';
        return 2;
    }
    smtp::client mail(argv[1], options);
    smtp::message m;
    m.from("Coracle <coracle@example.org>").to(argv[2]).subject("Ahoy");
    m.text("A mail of a few lines.\n").html("<p>A mail of <b>a few</b> lines.</p>\n");
    if (argc > 3) m.attach_file(argv[3]);
    if (argc > 6) {
        smtp::dkim_options signing;
        signing.domain = argv[4];
        signing.selector = argv[5];
        signing.key = secret(argv[6]);
        m.dkim(smtp::dkim_signer(signing));
    }

    return block_on([&]() -> task<int> {
        auto sending = mail.send(m).allow_refused_recipients();
        const auto sent = co_await as_result(sending);
        if (!sent) {
            std::cerr << sent.error() << '\n';  // the command, the reply, and what to do
            co_return 1;
        }
        for (const smtp::recipient_result& r : sent->recipients) {
            std::cout << r.address << ": " << r.reply.to_string() << '\n';
        }
        co_return 0;
    });
}
