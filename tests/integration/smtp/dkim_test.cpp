// Signatures of all canonical forms, verified by Python's dkimpy.

#include "support/temporary_directory.hpp"

#include <coracle/mime/base64.hpp>
#include <coracle/process/command.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/smtp/dkim.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using smtp::canonicalization;

namespace {

/// Reads lines of a key's record and a mail in base64, and prints a line of 0 or 1 for each:
/// whether the signature of the mail holds. Debian's packages belong to the system's Python.
constexpr const char* verifier = R"(
import base64, sys
try:
    import dkim, nacl
except ImportError:
    sys.exit(77)
for line in sys.stdin:
    record, mail = line.split()
    print(int(dkim.verify(base64.b64decode(mail), dnsfunc=lambda name, timeout=5: record.encode())))
)";

process::captured run(process::command c) {
    return block_on([&]() -> task<process::captured> {
        auto running = c.capture();
        process::captured done = co_await std::move(running);
        co_return done;
    });
}

/// A key for signing, and the record of its domain, of which blanks were taken out.
struct signing_key {
    signing_key(const temporary_directory& folder, const std::string& name) {
        path = (folder.path() / name).string();
        const std::string kind = name == "rsa" ? "RSA -pkeyopt rsa_keygen_bits:2048" : "ED25519";
        const process::captured made =
            run(process::shell("openssl genpkey -algorithm " + kind + " -out " + path +
                               " && openssl pkey -in " + path + " -pubout -outform DER"));
        EXPECT_TRUE(made.status.success()) << made.error;
        std::string_view key = made.output;
        // The key of Ed25519 alone is published (RFC 8463 section 4.2).
        if (name == "ed25519") key = key.substr(key.size() - 32);
        record = "v=DKIM1;k=" + name + ";p=" + mime::base64_encode(key);
    }

    std::string path;
    std::string record;
};

/// A field and a line, each in two forms: their blanks, folds and names are the same when relaxed.
constexpr std::string_view subject = "SUBJECT: Hello\r\n\tfolded   line  \r\n";
constexpr std::string_view other_blanks = "Subject: Hello folded line\r\n";
constexpr std::string_view line = "\t inner \t runs, and at the end  \r\n";
constexpr std::string_view other_line = " inner runs, and at the end\r\n";

std::string replaced(std::string text, std::string_view old, std::string_view by) {
    const std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return at == std::string::npos ? text : text.replace(at, old.size(), by);
}

smtp::dkim_options signing_with(const signing_key& key) {
    smtp::dkim_options o;
    o.domain = "x.org";
    o.selector = "s1";
    o.key = secret(key.path);
    return o;
}

smtp::client_options plain_options() {
    smtp::client_options o;
    o.proxy_from_environment = false;
    return o;
}

/// The mail as a server gets it, signed.
std::string signed_mail(const signing_key& key, canonicalization header, canonicalization body) {
    smtp::dkim_options o = signing_with(key);
    o.header = header;
    o.body = body;
    // Names that are repeated, as some do to sign the lack of further fields, count once.
    o.fields = {"From", "From", "Subject", "to", "FROM", "To", "Date", "reply-to"};
    smtp::message m;
    m.raw("From: Ada  <ada@x.org>\r\nTo: b@y.org,\r\n c@y.org\r\n" + std::string(subject) +
          "\r\n.first\r\n" + std::string(line) + "\r\n \r\nlast\r\n\r\n\r\n");
    m.dkim(smtp::dkim_signer(o));
    smtp_sink sink;
    smtp::client mail(sink.url(), plain_options());
    mail.send(m).wait();
    return sink.message(1).text;
}

}  // namespace

TEST(smtp_dkim, is_for_mails_with_a_sender_alone) {
    const temporary_directory folder;
    smtp::dkim_options o = signing_with(signing_key(folder, "ed25519"));
    smtp::message m;
    m.raw("Subject: Hello\r\n\r\nx\r\n").envelope_from("ada@x.org").envelope_to("b@y.org");
    m.dkim(smtp::dkim_signer(o));
    smtp_sink sink;
    smtp::client mail(sink.url(), plain_options());
    EXPECT_THROW(mail.send(m).wait(), exception);
    EXPECT_EQ(sink.count(), 0U);
    o.domain = "x.org.";
    EXPECT_THROW(smtp::dkim_signer{o}, exception);
}

// Whatever the first server takes: the next may have to recode it.
TEST(smtp_dkim, is_of_mails_that_no_server_has_to_recode) {
    const temporary_directory folder;
    smtp::dkim_options o = signing_with(signing_key(folder, "ed25519"));
    smtp_sink sink;
    smtp::client mail(sink.url(), plain_options());
    for (const bool is_signed : {true, false}) {
        smtp::message m;
        m.from("ada@x.org").to("b@y.org").text("caf\xc3\xa9\n").attach("a.bin", "\xff\x01");
        if (is_signed) m.dkim(smtp::dkim_signer(o));
        mail.send(m).wait();
        const sink_message kept = sink.message(is_signed ? 1 : 2);
        const auto is_seven_bit = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
        EXPECT_EQ(std::ranges::all_of(kept.text, is_seven_bit), is_signed);
        EXPECT_EQ(kept.parameters.find("BODY=") == std::string::npos, is_signed);
    }
}

TEST(smtp_dkim, holds_in_each_canonical_form) {
    const temporary_directory folder;
    struct expectation {
        std::string what;
        bool holds;
    };
    std::vector<expectation> expected;
    std::string input;
    for (const char* kind : {"rsa", "ed25519"}) {
        const signing_key key(folder, kind);
        for (const auto header : {canonicalization::relaxed, canonicalization::simple}) {
            for (const auto body : {canonicalization::relaxed, canonicalization::simple}) {
                const auto name = [](canonicalization c) {
                    return c == canonicalization::relaxed ? "relaxed" : "simple";
                };
                const std::string form = std::string(name(header)) + '/' + name(body);
                const std::string mail = signed_mail(key, header, body);
                EXPECT_NE(mail.find("c=" + form + ';'), std::string::npos) << mail;
                const auto judge = [&](const char* what, const std::string& text, bool holds) {
                    input += key.record + ' ' + mime::base64_encode(text) + '\n';
                    expected.push_back({std::string(kind) + ' ' + form + ", " + what, holds});
                };
                judge("as it is", mail, true);
                judge("a Date that it lacks", "Date: today\r\n" + mail, true);
                for (const char* field : {"Subject", "Reply-To"}) {
                    judge(field, std::string(field) + ": e@z.org\r\n" + mail, false);
                }
                judge("another word in the body", replaced(mail, "last", "LAST"), false);
                judge("another word in a field", replaced(mail, "Hello", "Hallo"), false);
                judge("other blanks in a field", replaced(mail, subject, other_blanks),
                      header == canonicalization::relaxed);
                judge("other blanks in the body", replaced(mail, line, other_line),
                      body == canonicalization::relaxed);
                judge("more empty lines at the end", mail + "\r\n\r\n", true);
            }
        }
    }
    process::command python("/usr/bin/python3");
    python.args("-c", verifier).input(process::redirect::text(input));
    const process::captured said = run(std::move(python));
    if (said.status.code() == 77) GTEST_SKIP() << "Python's dkim or nacl is not installed";
    ASSERT_TRUE(said.status.success()) << said.error;
    ASSERT_EQ(said.output.size(), expected.size() * 2) << said.output;
    for (std::size_t i = 0; i != expected.size(); ++i) {
        EXPECT_EQ(said.output[i * 2] == '1', expected[i].holds) << expected[i].what;
    }
}
