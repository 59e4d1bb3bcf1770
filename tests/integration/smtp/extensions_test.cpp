// PIPELINING and 8BITMIME: used where the server offers them, and never elsewhere.

#include "support/patient_mail_server.hpp"
#include "support/plain_mail.hpp"

#include <coracle/runtime/task_group.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

smtp::message a_message(const std::string& to = "b@y.org, c@y.org") {
    smtp::message m;
    m.from("ada@x.org").to(to).subject("Hello").text("How are you?\n");
    return m;
}

/// The goes in which a client sends its mails.
std::vector<std::string> goes_of(const std::string& capabilities, bool pipelining, unsigned refused,
                                 unsigned mails = 1, const smtp::message& m = a_message()) {
    // QUIT is said as far as that needs no waiting; in this world it needs none.
    simulation_options so;
    so.seed = 2;
    simulation world(so);
    patient_mail_server server({.capabilities = capabilities, .refused = refused});
    auto main = [&]() -> task<> {
        auto both = [&](task_group& g) -> task<> {
            g.spawn([&] { return server.serve(); });
            smtp::client_options o = plain_mail_options();
            o.pipelining = pipelining;
            smtp::client mail("smtp://127.0.0.1:2525", o);
            for (unsigned i = 0; i != mails; ++i) {
                auto sending = mail.send(m);
                const mail_outcome r = co_await as_result(sending);
                EXPECT_EQ(r.has_value(), refused == 0 || i != 0);
            }
        };
        co_await with_task_group(both);
    };
    world.run(main);
    return server.goes;
}

using goes = std::vector<std::string>;

}  // namespace

TEST(smtp_extensions, send_the_envelope_in_one_go_where_pipelining_is_offered) {
    EXPECT_EQ(goes_of("250-PIPELINING\r\n", true, 0),
              (goes{"EHLO", "MAIL RCPT RCPT", "DATA", "content", "QUIT"}));
    // The reset of the mail before goes with it.
    EXPECT_EQ(goes_of("250-PIPELINING\r\n", true, 1, 2),
              (goes{"EHLO", "MAIL RCPT RCPT", "RSET MAIL RCPT RCPT", "DATA", "content", "QUIT"}));
}

TEST(smtp_extensions, send_a_hundred_recipients_at_a_time_and_the_mail_to_all_of_them) {
    std::string all = "r0@y.org";
    std::string hundred;
    for (int i = 1; i != 250; ++i) all += ", r" + std::to_string(i) + "@y.org";
    for (int i = 0; i != 100; ++i) hundred += " RCPT";
    EXPECT_EQ(goes_of("250-PIPELINING\r\n", true, 0, 1, a_message(all)),
              (goes{"EHLO", "MAIL" + hundred, hundred.substr(1), hundred.substr(1, 50 * 5 - 1),
                    "DATA", "content", "QUIT"}));
}

TEST(smtp_extensions, wait_for_each_reply_where_pipelining_is_not_offered_or_off) {
    const goes expected{"EHLO", "MAIL", "RCPT", "RCPT", "DATA", "content", "QUIT"};
    EXPECT_EQ(goes_of("", true, 0), expected);
    EXPECT_EQ(goes_of("250-PIPELINING\r\n", false, 0), expected);
    EXPECT_EQ(goes_of("", true, 1, 2), (goes{"EHLO", "MAIL", "RCPT", "RCPT", "RSET", "MAIL", "RCPT",
                                             "RCPT", "DATA", "content", "QUIT"}));
}

namespace {

/// A sink in a simulated world, and the outcome of one mail to it.
struct kept_mail {
    kept_mail(const smtp_sink_options& options, const smtp::message& m) {
        smtp_sink_options so = options;
        so.listen = "127.0.0.1:2525";
        simulation world;
        smtp_sink sink(world.loop(), so);
        auto main = [&]() -> task<> {
            smtp::client mail(sink.url(), plain_mail_options());
            auto sending = mail.send(m);
            r = co_await as_result(sending);
        };
        world.run(main);
        mails = sink.messages();
        dialogue = sink.dialogue();
    }

    bool heard(std::string_view command) const {
        for (const std::string& line : dialogue) {
            if (line.starts_with("C: " + std::string(command))) return true;
        }
        return false;
    }

    mail_outcome r = std::unexpected(error());
    std::vector<sink_message> mails;
    std::vector<std::string> dialogue;
};

bool has(const std::string& text, std::string_view what) {
    return text.find(what) != std::string::npos;
}

}  // namespace

TEST(smtp_extensions, say_that_a_mail_has_eight_bits_where_the_server_takes_them) {
    smtp::message m = a_message();
    m.text("Grüße\n");
    for (const bool chunking : {false, true}) {
        for (const bool offered : {false, true}) {
            smtp_sink_options so;
            so.chunking = chunking;
            so.binary = false;
            so.eight_bit = offered;
            const kept_mail kept(so, m);
            ASSERT_TRUE(kept.r) << kept.r.error();
            ASSERT_EQ(kept.mails.size(), 1u);
            EXPECT_EQ(has(kept.mails[0].parameters, "BODY=8BITMIME"), offered);
            EXPECT_EQ(has(kept.mails[0].parameters, "BODY="), offered);
            EXPECT_EQ(has(kept.mails[0].text, "\r\n\r\nGrüße\r\n"), offered);
            EXPECT_EQ(has(kept.mails[0].text, "Content-Transfer-Encoding: 8bit\r\n"), offered);
        }
    }
    // The parts around them say so too.
    m.html("<p>Grüße</p>\n");
    for (const bool offered : {false, true}) {
        smtp_sink_options so;
        so.eight_bit = offered;
        so.binary = false;
        const kept_mail kept(so, m);
        ASSERT_EQ(kept.mails.size(), 1u);
        const std::string& text = kept.mails[0].text;
        const std::string head = text.substr(0, text.find("\r\n\r\n") + 2);
        EXPECT_TRUE(has(head, "multipart/alternative")) << head;
        EXPECT_EQ(has(head, "Content-Transfer-Encoding: 8bit\r\n"), offered) << head;
        EXPECT_EQ(has(head, "Content-Transfer-Encoding:"), offered) << head;
    }
    m.attach("a.bin", std::string(100, '\0'));
    const kept_mail binary({}, m);
    ASSERT_EQ(binary.mails.size(), 1u);
    const std::string& text = binary.mails[0].text;
    const std::string head = text.substr(0, text.find("\r\n\r\n") + 2);
    EXPECT_TRUE(has(head, "Content-Transfer-Encoding: binary\r\n")) << head;
    const kept_mail plain({}, a_message());
    ASSERT_EQ(plain.mails.size(), 1u);
    EXPECT_FALSE(has(plain.mails[0].parameters, "BODY=")) << "seven bits are enough";
}

TEST(smtp_extensions, send_no_mail_made_elsewhere_to_a_server_that_does_not_take_its_bytes) {
    smtp::message m;
    m.raw("From: ada@x.org\r\nTo: b@y.org\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGrüße\r\n");
    for (const bool offered : {false, true}) {
        smtp_sink_options so;
        so.eight_bit = offered;
        so.binary = false;
        const kept_mail kept(so, m);
        ASSERT_EQ(kept.r.has_value(), offered);
        EXPECT_EQ(kept.heard("MAIL"), offered);
        EXPECT_EQ(kept.mails.size(), offered ? 1u : 0u);
        if (offered) {
            EXPECT_TRUE(has(kept.mails[0].parameters, "BODY=8BITMIME"));
            EXPECT_TRUE(has(kept.mails[0].text, "\r\n\r\nGrüße\r\n"));
        } else {
            EXPECT_EQ(kept.r.error(), make_error_code(smtp::errc::needs_8bitmime));
            EXPECT_FALSE(kept.r.error().safe_to_retry());
            EXPECT_TRUE(kept.heard("EHLO"));
        }
    }
}
