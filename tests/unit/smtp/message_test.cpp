#include "smtp/dkim_signature.hpp"
#include "support/allocation_count.hpp"

#include <coracle/mime/message_parser.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/smtp/error.hpp>
#include <coracle/smtp/message.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

using namespace coracle;
using namespace coracle::smtp;

namespace {

std::string text_of(const message& m) {
    message copy = m;
    return block_on([&]() -> task<std::string> { co_return co_await copy.str(); });
}

std::string problem_of(const message& m) {
    const auto problem = m.problem();
    return problem ? std::string(problem->subject()) : "none";
}

message a_message() {
    message m;
    m.from("Ada <ada@example.org>").to("bob@example.net");
    m.date({0, 60}).message_id("<1@example.org>");
    return m;
}

/// The field of this name, unfolded; "none" where it is not.
std::string field(const message& m, std::string_view name) {
    const std::string text = text_of(m);
    mime::message_parser parser;
    parser.parse(text);
    std::string all = "none";
    for (const mime::message_field& f : parser.part().fields) {
        if (f.name == name) all = all == "none" ? f.value : all + '|' + f.value;
    }
    return all;
}

}  // namespace

TEST(smtp_message, writes_its_fields_in_order) {
    message m = a_message();
    m.sender("boss@example.org").reply_to("Team: a@x.org, b@x.org;").cc("c@x.org").cc("d@x.org");
    m.bcc("secret@x.org").subject("Hello, World").in_reply_to("0@example.net");
    m.references("<-1@example.net> 0@example.net").priority(priority::high);
    m.list_unsubscribe("https://x.org/u?1", true).list_unsubscribe("mailto:u@x.org");
    m.header("X-Mine", "Grüße").text("Hi\n");
    EXPECT_EQ(problem_of(m), "none");
    EXPECT_EQ(text_of(m),
              "Date: Thu, 01 Jan 1970 01:00:00 +0100\r\n"
              "From: Ada <ada@example.org>\r\n"
              "Sender: boss@example.org\r\n"
              "Reply-To: Team: a@x.org, b@x.org;\r\n"
              "To: bob@example.net\r\n"
              "Cc: c@x.org, d@x.org\r\n"
              "Subject: Hello, World\r\n"
              "Message-ID: <1@example.org>\r\n"
              "In-Reply-To: <0@example.net>\r\n"
              "References: <-1@example.net> <0@example.net>\r\n"
              "X-Priority: 1 (Highest)\r\n"
              "Importance: high\r\n"
              "List-Unsubscribe: <https://x.org/u?1>, <mailto:u@x.org>\r\n"
              "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
              "X-Mine: =?utf-8?b?R3LDvMOfZQ==?=\r\n"
              "MIME-Version: 1.0\r\n"
              "Content-Type: text/plain; charset=us-ascii\r\n"
              "Content-Transfer-Encoding: 7bit\r\n"
              "\r\n"
              "Hi\r\n");
    EXPECT_EQ(m.envelope_sender(), "boss@example.org");
    EXPECT_EQ(m.recipients(),
              (std::vector<std::string>{"bob@example.net", "c@x.org", "d@x.org", "secret@x.org"}));
}

TEST(smtp_message, makes_a_date_and_an_id_of_its_own_once) {
    message m;
    m.from("a@bücher.example").to("b@x.org");
    const std::string first = text_of(m);
    EXPECT_NE(first.find("\r\nMessage-ID: <"), std::string::npos);
    EXPECT_NE(first.find("@xn--bcher-kva.example>\r\n"), std::string::npos);
    block_on([&]() -> task<> {
        const std::string one = co_await m.str();
        const std::string two = co_await m.str();
        EXPECT_EQ(one, two);
    });
}

TEST(smtp_message, shows_nobody_who_else_gets_it) {
    message m = message();
    m.from("a@x.org").bcc("hidden@x.org,covert@x.org");
    const std::string text = text_of(m);
    EXPECT_NE(text.find("To: undisclosed-recipients:;\r\n"), std::string::npos);
    EXPECT_EQ(text.find("hidden"), std::string::npos);
    EXPECT_EQ(text.find("Bcc"), std::string::npos);
    EXPECT_EQ(m.recipients().size(), 2u);
    m.envelope_to("d@x.org").envelope_from("");
    EXPECT_EQ(m.recipients(), std::vector<std::string>{"d@x.org"});
    EXPECT_EQ(m.envelope_sender(), "");
    EXPECT_EQ(problem_of(m), "none");
}

TEST(smtp_message, says_what_is_missing_or_wrong) {
    EXPECT_EQ(problem_of(message()), "no sender: from");
    EXPECT_EQ(problem_of(message().from("a@x.org")), "no recipient: to, cc or bcc");
    EXPECT_EQ(problem_of(message().from("a@x.org").to("")), "no recipient: to, cc or bcc");
    EXPECT_EQ(problem_of(message().from("a@x.org, b@x.org").to("c@x.org")),
              "no sender: several authors need one (RFC 5322 section 3.6.2)");
    EXPECT_TRUE(problem_of(a_message().to("nobody")).starts_with("to: no list of addresses"));
    EXPECT_NE(problem_of(a_message().priority(priority::low).sender("a@x, b@x")), "none");
    EXPECT_NE(problem_of(a_message().message_id("x")), "none");
    EXPECT_NE(problem_of(a_message().references("a@b c")), "none");
    EXPECT_NE(problem_of(a_message().list_unsubscribe("ftp://x")), "none");
    EXPECT_NE(problem_of(a_message().list_unsubscribe("mailto:x@y", true)), "none");
    EXPECT_NE(problem_of(a_message().attach("a", "b", "no type")), "none");
    EXPECT_NE(problem_of(a_message().attach("a", "b", "text/plain; x=\"\xc3\xbc\"")), "none");
    EXPECT_NE(problem_of(a_message().text("\xff")), "none");
    for (const char* name :
         {"Bcc", "to", "Content-Type", "MIME-Version", "Message-Id", "Return-Path"}) {
        EXPECT_NE(problem_of(a_message().header(name, "x")), "none") << name;
    }
    // A fault stays, and the first one counts.
    EXPECT_EQ(problem_of(a_message().subject("a\nb").to("x")),
              "subject: CR, LF, NUL or bytes that are no UTF-8");
}

TEST(smtp_message, lets_no_text_become_a_field) {
    using namespace std::string_view_literals;
    for (const std::string_view evil : {"x\r\nBcc: e@x.org"sv, "x\nBcc: e@x.org"sv, "x\rBcc: e"sv,
                                        "x\0y"sv, "\r\n.\r\nMAIL FROM:<e@x.org>"sv}) {
        const std::string s(evil);
        EXPECT_NE(problem_of(a_message().subject(s)), "none");
        EXPECT_NE(problem_of(a_message().to("b <b@x.org>" + s)), "none");
        EXPECT_NE(problem_of(a_message().from("\"" + s + "\" <b@x.org>")), "none") << s;
        EXPECT_NE(problem_of(a_message().to(s + "@x.org")), "none");
        EXPECT_NE(problem_of(a_message().envelope_from("a@x.org" + s)), "none");
        EXPECT_NE(problem_of(a_message().header("X-A", s)), "none");
        EXPECT_NE(problem_of(a_message().header("X-A" + s, "1")), "none");
        EXPECT_NE(problem_of(a_message().message_id(s + "@x")), "none");
        EXPECT_NE(problem_of(a_message().in_reply_to("a@" + s)), "none");
        EXPECT_NE(problem_of(a_message().references("a@" + s)), "none");
        EXPECT_NE(problem_of(a_message().list_unsubscribe("https://" + s)), "none");
        EXPECT_NE(problem_of(a_message().attach(s, "")), "none");
        EXPECT_NE(problem_of(a_message().attach("a", "", "text/plain; a=" + s)), "none");
        EXPECT_NE(problem_of(a_message().embed(s, "", "image/png")), "none");
    }
}

TEST(smtp_message, is_a_value) {
    message a = a_message();
    const message b = a;
    a.subject("changed");
    EXPECT_EQ(field(a, "Subject"), "changed");
    EXPECT_EQ(field(b, "Subject"), "none");
}

TEST(smtp_message, takes_a_mail_that_was_made_elsewhere) {
    message m;
    m.raw("From: a@x.org\nTo: b@x.org,\n c@x.org\nBCC: d@x.org,\n\te@x.org\nSubject: x\n\n.body\n");
    EXPECT_EQ(problem_of(m), "none");
    EXPECT_EQ(m.envelope_sender(), "a@x.org");
    EXPECT_EQ(m.recipients(),
              (std::vector<std::string>{"b@x.org", "c@x.org", "d@x.org", "e@x.org"}));
    EXPECT_EQ(text_of(m),
              "From: a@x.org\r\nTo: b@x.org,\r\n c@x.org\r\nSubject: x\r\n\r\n.body\r\n");
    using namespace std::string_view_literals;
    for (const std::string_view bad : {"From: a@x.org\r\n\r\na\rb\r\n"sv, "From: a@x\n\na\0b"sv,
                                       "no header\n\nx"sv, ""sv, "\nbody\n"sv}) {
        EXPECT_NE(
            problem_of(
                message().raw(std::string(bad)).envelope_from("a@x.org").envelope_to("b@x.org")),
            "none")
            << bad;
    }
    EXPECT_NE(problem_of(message().raw("From: a@x.org\nTo: b@x.org\n\n" + std::string(999, 'x'))),
              "none");
    EXPECT_EQ(problem_of(message().raw("From: a@x.org\nTo: b@x.org\n\n" + std::string(998, 'x'))),
              "none");
}

TEST(smtp_message, made_elsewhere_leaves_out_no_recipient) {
    for (const char* lines : {"Cc: good@x.org, Bob Bad, other@x.org", "Bcc: s1@x.org s2@x.org"}) {
        message m;
        m.raw("From: a@x.org\nTo: b@x.org\n" + std::string(lines) + "\n\ntext\n");
        EXPECT_NE(problem_of(m), "none") << lines;
        m.envelope_to("b@x.org");
        EXPECT_EQ(problem_of(m), "none") << lines;
    }
    EXPECT_EQ(problem_of(message().raw("From: a@x.org\nTo: b@x.org\nBcc:\n\ntext\n")), "none");
}

TEST(smtp_message, made_elsewhere_goes_to_those_to_whom_it_was_resent) {
    const std::string original = "From: a@x.org\nTo: b@x.org\nCc: c@x.org\n\ntext\n";
    const std::string once = "Resent-From: d@x.org\nresent-to: e@x.org\nResent-Bcc: f@x.org\n";
    message m;
    m.raw(once + original);
    EXPECT_EQ(problem_of(m), "none");
    EXPECT_EQ(m.envelope_sender(), "d@x.org");
    EXPECT_EQ(m.recipients(), (std::vector<std::string>{"e@x.org", "f@x.org"}));
    message twice;
    twice.raw("Resent-From: g@x.org\nResent-To: h@x.org\n" + once + original);
    EXPECT_NE(problem_of(twice), "none");
    twice.envelope_to("h@x.org");
    EXPECT_EQ(problem_of(twice), "none");
}

TEST(smtp_message, made_elsewhere_shows_nobody_to_whom_it_was_resent) {
    message m;
    m.raw("From: a@x.org\nTo: b@x.org\nResent-Bcc: hidden@x.org\nResent-To: c@x.org\n\ntext\n");
    EXPECT_EQ(text_of(m), "From: a@x.org\r\nTo: b@x.org\r\nResent-To: c@x.org\r\n\r\ntext\r\n");
    EXPECT_NE(problem_of(a_message().header("Resent-Bcc", "x@x.org")), "none");
}

TEST(smtp_message, names_groups_that_have_no_name) {
    const message m = a_message().to("\"\": b@example.org;");
    EXPECT_EQ(field(m, "To"), "bob@example.net, \"\": b@example.org;");
}

TEST(smtp_message, changes_no_attachment_that_is_all_there_is) {
    for (const char* content : {"abc", "abc\r\n", "abc\n", "h\xc3\xa9llo", "h\xc3\xa9llo\r\n", "",
                                "\r\n.\r\n", " \r\n "}) {
        message m = a_message();
        m.attach("a.txt", content, "text/plain");
        std::string mail = text_of(m);
        if (!mail.ends_with("\r\n")) mail += "\r\n";  // DATA has it before its end
        mime::message_parser parser;
        std::string got;
        std::string_view rest = mail;
        for (;;) {
            const auto e = parser.parse(rest);
            rest.remove_prefix(e.consumed);
            if (e.what == mime::message_event::kind::data) got += e.data;
            if (e.what == mime::message_event::kind::need_more) break;
        }
        for (auto e = parser.finish(); e.what != mime::message_event::kind::end;
             e = parser.finish()) {
            if (e.what == mime::message_event::kind::data) got += e.data;
        }
        EXPECT_EQ(got, content);
    }
}

TEST(smtp_message, describes_its_parts_as_they_are) {
    message related = a_message();
    related.text("see it").embed("pic", "png", "image/png");
    EXPECT_NE(text_of(related).find("multipart/related; type=\"text/plain\""), std::string::npos);
    related.html("<img src='cid:pic'>");
    EXPECT_NE(text_of(related).find("multipart/related; type=\"text/html\""), std::string::npos);
    message named = a_message();
    named.text("t").attach("report.csv", "a,b\r\n", "text/csv; name=\"q\"");
    const std::string text = text_of(named);
    EXPECT_NE(text.find("Content-Type: text/csv; name=\"q\"\r\n"), std::string::npos) << text;
    EXPECT_NE(text.find("filename=report.csv"), std::string::npos) << text;
    message mail = a_message();
    mail.text("t").attach("m", "Subject: x\r\n\r\n\xe9\r\n", "Message/RFC822");
    EXPECT_EQ(text_of(mail).find("Message/RFC822"), std::string::npos) << text_of(mail);
    EXPECT_NE(problem_of(a_message().embed(std::string(901, 'x'), "c", "image/png")), "none");
    EXPECT_NE(problem_of(a_message().text("t").attach_file("")), "none");
    EXPECT_NE(problem_of(a_message().text("t").embed_file("pic", "")), "none");
    EXPECT_EQ(problem_of(a_message().text("t").embed(std::string(900, 'x'), "c", "image/png")),
              "none");
}

/// The types of the parts of a mail, in order.
std::string types_of(const message& m) {
    const std::string text = text_of(m);
    std::string all;
    for (std::size_t at = 0; (at = text.find("Content-Type: ", at)) != text.npos;) {
        at += std::string_view("Content-Type: ").size();
        all += text.substr(at, text.find_first_of(";\r", at) - at) + ' ';
    }
    return all;
}

TEST(smtp_message, has_other_forms_of_its_text) {
    message m = a_message();
    m.text("Come!").alternative("<amp>", "text/x-amp-html").html("<p>Come!");
    m.alternative("BEGIN:VCALENDAR\nSUMMARY:F\xc3\xbcnf\n", "text/calendar; method=REQUEST");
    EXPECT_EQ(types_of(m),
              "multipart/alternative text/plain text/x-amp-html text/html text/calendar ");
    EXPECT_NE(text_of(m).find("Content-Type: text/calendar; method=REQUEST; charset=utf-8\r\n"),
              std::string::npos);
    EXPECT_NE(text_of(m).find("BEGIN:VCALENDAR\r\n"), std::string::npos);
    m.embed("pic", "png", "image/png").attach("a.bin", "bytes");
    EXPECT_EQ(types_of(m),
              "multipart/mixed multipart/alternative text/plain text/x-amp-html multipart/related "
              "text/html image/png text/calendar application/octet-stream ");
    message alone = a_message();
    alone.alternative("# Come", "text/markdown");
    EXPECT_EQ(types_of(alone), "text/markdown ");
    for (const char* type : {"text/plain", "TEXT/HTML", "image/png", "multipart/mixed", "calendar",
                             "text/calendar; charset=utf-8", "text/x\r\nBcc: a"}) {
        EXPECT_NE(problem_of(a_message().alternative("x", type)), "none") << type;
    }
    EXPECT_NE(problem_of(a_message().alternative("\xff", "text/calendar")), "none");
}

TEST(smtp_message, attaches_no_parts_of_their_own) {
    message m = a_message();
    m.attach("a", "content", "multipart/mixed");
    EXPECT_NE(problem_of(m), "none");
}

TEST(dkim, makes_the_canonical_forms_of_the_rfc) {
    using smtp::detail::canonical_field;
    // RFC 6376 section 3.4.5.
    EXPECT_EQ(canonical_field("A: X\r\n", canonicalization::relaxed), "a:X\r\n");
    EXPECT_EQ(canonical_field("B : Y\t\r\n\tZ  \r\n", canonicalization::relaxed), "b:Y Z\r\n");
    EXPECT_EQ(canonical_field("B : Y\t\r\n\tZ  \r\n", canonicalization::simple),
              "B : Y\t\r\n\tZ  \r\n");
    const struct {
        const char* body;
        const char* relaxed;
        const char* simple;
    } rows[] = {
        {" C \r\nD \t E\r\n\r\n\r\n", " C\r\nD E\r\n", " C \r\nD \t E\r\n"},
        {"", "", "\r\n"},
        {"\r\n\r\n", "", "\r\n"},
        {"a", "a\r\n", "a\r\n"},
        {"a\r\n\r\nb\r\n", "a\r\n\r\nb\r\n", "a\r\n\r\nb\r\n"},
        {" \t \r\n \r\n", "", " \t \r\n \r\n"},
        {"a\rb\r\n", "a\rb\r\n", "a\rb\r\n"},
    };
    for (const auto& row : rows) {
        for (std::size_t step = 1; step != 6; ++step) {
            for (const canonicalization c : {canonicalization::relaxed, canonicalization::simple}) {
                smtp::detail::canonical_body body(c);
                std::string out;
                const std::string_view all = row.body;
                for (std::size_t at = 0; at < all.size(); at += step)
                    body.add(all.substr(at, step), out);
                body.finish(out);
                EXPECT_EQ(out, c == canonicalization::relaxed ? row.relaxed : row.simple)
                    << row.body;
            }
        }
    }
}

TEST(dkim, refuses_what_cannot_be_signed_with) {
    const auto problem = [](dkim_options o) {
        try {
            const dkim_signer s(std::move(o));
        } catch (const exception& e) {
            return std::string(e.what());
        }
        return std::string("none");
    };
    EXPECT_NE(problem({.domain = "x y", .selector = "s"}).find("domain"), std::string::npos);
    EXPECT_NE(problem({.domain = "x", .selector = ""}).find("selector"), std::string::npos);
    for (const char* who : {"bob@other.net", "@other.net", "bob@notexample.org", "bob@org"}) {
        const std::string why =
            problem({.domain = "example.org", .selector = "s", .identity = who});
        EXPECT_NE(why.find("identity: not of example.org"), std::string::npos) << why;
    }
    for (const char* who : {"bob@example.org", "@EXAMPLE.org", "bob@mail.example.org"}) {
        const std::string why =
            problem({.domain = "example.org", .selector = "s", .identity = who});
        EXPECT_EQ(why.find("identity"), std::string::npos) << why;
    }
    EXPECT_NE(problem({.domain = "x", .selector = "s", .key = secret("/nonexistent")}), "none");
    const std::string bad = problem(
        {.domain = "x", .selector = "s", .key = secret("-----BEGIN PRIVATE KEY-----\nMII\n")});
    EXPECT_NE(bad, "none");
    EXPECT_EQ(bad.find("MII"), std::string::npos);
}

TEST(smtp_message, stays_as_it_was_where_memory_fails) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "no allocation fails in this build";
    const std::string long_name(40, 'n');
    const auto change = [&](message& m, int what) {
        if (what == 0) m.attach(long_name + ".bin", std::string(1000, 'x'));
        if (what == 1) m.embed(long_name + "@x", std::string(1000, 'x'), "image/png");
        if (what == 2) m.to("c@example.org, " + long_name + "@example.org, d@example.org");
        if (what == 3) m.references("<" + long_name + "@x> <" + long_name + "@y>");
    };
    for (int what = 0; what != 4; ++what) {
        bool failed = true;
        for (std::size_t n = 1; failed; ++n) {
            message m = a_message();
            const std::string before = text_of(m);
            failed = coracle::testing::fails_at(n, [&] { change(m, what); });
            if (failed) {
                EXPECT_EQ(text_of(m), before) << what << ' ' << n;
            }
        }
    }
}

TEST(smtp_message, is_empty_when_it_was_moved_away) {
    message m = a_message();
    const message moved = std::move(m);
    EXPECT_EQ(problem_of(moved), "none");
    EXPECT_NE(problem_of(m), "none");  // NOLINT(bugprone-use-after-move)
    EXPECT_TRUE(m.recipients().empty());
    m.from("a@example.org").to("b@example.org");
    EXPECT_EQ(problem_of(m), "none");
}
