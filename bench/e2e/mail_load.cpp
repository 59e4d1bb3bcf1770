// Mails of 4 KiB that were made elsewhere, or one file after the other as an attachment, over so
// many connections. More mails are under way than there are connections, so that some always wait
// for one:
//
//   mail_load URL COUNT CONNECTIONS [FILE]
//
// Prints what the process grew by meanwhile.

#include "../support/mail.hpp"
#include "../support/spent.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/smtp/client.hpp>

#include <algorithm>
#include <cstdio>

using namespace coracle;

namespace {

constexpr std::size_t mails_of_connection = 4;

struct mail_counts {
    std::size_t to_start;
    std::size_t ok = 0;
    std::size_t otherwise = 0;
};

task<> send_some(smtp::client& client, const smtp::message& m, mail_counts& counts) {
    while (counts.to_start != 0) {
        --counts.to_start;
        auto sending = client.send(m);
        const auto sent = co_await as_result(sending);
        ++(sent ? counts.ok : counts.otherwise);
        if (!sent && counts.otherwise == 1)
            std::fprintf(stderr, "%s\n", sent.error().message().c_str());
    }
}

task<> send_together(smtp::client& client, const smtp::message& m,
                     const bench::calls_wanted& wanted, mail_counts& counts) {
    const bench::growth since_now;
    const std::size_t under_way = mails_of_connection * wanted.concurrency;
    const auto block = [&](task_group& group) -> task<> {
        for (std::size_t i = 0; i < std::min(wanted.count, under_way); ++i) {
            group.spawn([&] { return send_some(client, m, counts); });
        }
        co_return;
    };
    co_await with_task_group(block);
    since_now.print();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::calls_wanted wanted = bench::read_calls_wanted(argc, argv, " [FILE]");
    smtp::message m;
    if (argc > 4) {
        m.from(bench::mail_sender).to(bench::mail_recipient).subject("a file").text("Here.\n");
        m.attach_file(argv[4], {}, "application/octet-stream");
    } else {
        m.raw(bench::small_mail());
    }
    smtp::client_options options;
    options.starttls = smtp::starttls::off;
    options.proxy_from_environment = false;
    smtp::pool_options pool;
    pool.connections = static_cast<unsigned>(wanted.concurrency);
    pool.messages = 0;
    mail_counts counts{.to_start = wanted.count};
    smtp::client client(argv[1], options, pool);
    block_on([&] { return send_together(client, m, wanted, counts); });
    return bench::report_calls(wanted.count, counts.ok, counts.otherwise);
}
