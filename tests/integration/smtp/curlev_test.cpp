// For programs that used curlev's SMTP: its numbers for failures, and its keys of options.

#include "support/plain_mail.hpp"

#include <coracle/smtp/client.hpp>
#include <coracle/smtp/client_settings.hpp>
#include <coracle/smtp/curlev.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;

namespace {

smtp::message a_message() {
    smtp::message m;
    m.from("ada@x.example").to("bob@y.example").text("x");
    return m;
}

int code_of(smtp::client& mail, const smtp::message& m) {
    try {
        mail.send(m).wait();
    } catch (const exception& e) {
        return smtp::curlev_code(e.error());
    }
    return 0;
}

int code_at(const std::string& url, smtp::client_options o = plain_mail_options()) {
    smtp::client mail(url, std::move(o));
    return code_of(mail, a_message());
}

}  // namespace

TEST(smtp_curlev_code, is_that_of_libcurl_for_each_refusal) {
    const struct {
        sink_rule rule;
        int code;
    } rows[] = {
        {{.command = "greeting", .text = "554 no"}, 8},
        {{.command = "EHLO", .text = "421 no", .closes = true}, 9},
        {{.command = "MAIL", .text = "550 no"}, 55},
        {{.command = "RCPT", .text = "550 no"}, 55},
        {{.command = "RCPT", .text = "450 no"}, 55},
        {{.command = "DATA", .text = "554 no"}, 55},
        {{.command = "DATA", .text = "250 what"}, 8},
        {{.command = "MAIL", .text = "no reply at all"}, 8},
        {{.command = "end of data", .text = "554 no"}, 8},
        {{.command = "end of data", .what = sink_rule::action::close}, 56},
        {{.command = "MAIL", .what = sink_rule::action::close}, 56},
    };
    for (const auto& row : rows) {
        smtp_sink_options so;
        so.chunking = false;
        smtp_sink sink(so);
        sink.misbehave(row.rule);
        EXPECT_EQ(code_at(sink.url()), row.code) << row.rule.command << ' ' << row.rule.text;
    }
}

TEST(smtp_curlev_code, is_that_of_libcurl_before_there_is_mail) {
    EXPECT_EQ(code_at("http://127.0.0.1"), 1);
    EXPECT_EQ(code_at("smtp://"), 3);
    EXPECT_EQ(code_at("smtp://nowhere.invalid"), 6);
    EXPECT_EQ(code_at("smtp://127.0.0.1:1"), 7);
    smtp::client_options o = plain_mail_options();
    o.proxy = secret("http://nowhere.invalid:1");
    EXPECT_EQ(code_at("smtp://127.0.0.1:1", o), 5);

    smtp_sink_options so;
    so.self_signed = true;
    so.user = "joe";
    so.password = secret("p");
    const smtp_sink sink(so);
    o = plain_mail_options();
    o.starttls = smtp::starttls::required;
    EXPECT_EQ(code_at(sink.url(), o), 60);
    o.insecure = true;
    o.authentication.user = "joe";
    o.authentication.password = secret("wrong");
    EXPECT_EQ(code_at(sink.url(), o), 67);
    o.authentication.mechanisms = "EXTERNAL";
    EXPECT_EQ(code_at(sink.url(), o), 67);

    const smtp_sink clear;
    o = plain_mail_options();
    o.starttls = smtp::starttls::required;
    EXPECT_EQ(code_at(clear.url(), o), 64);
    EXPECT_EQ(code_at(clear.url()), 0);
}

TEST(smtp_curlev_code, is_curlevs_own_for_mails_and_options) {
    const smtp_sink sink;
    smtp::client mail(sink.url(), plain_mail_options());
    smtp::message nobody;
    EXPECT_EQ(code_of(mail, nobody.from("a@x.example")), -35);
    EXPECT_EQ(code_of(mail, a_message().to("no address")), -35);
    EXPECT_EQ(code_of(mail, a_message().subject("a\r\nb")), -32);
    EXPECT_EQ(code_of(mail, a_message().attach("a\nb", "x")), -34);
    EXPECT_EQ(code_of(mail, a_message().text("\xff")), -33);
    EXPECT_EQ(code_of(mail, a_message().attach_file("/nowhere/file")), 26);
    const auto code_of_text = [](const char* text) {
        smtp::client_options o;
        const auto read = smtp::read_options(o, text);
        return read ? 0 : smtp::curlev_code(read.error());
    };
    EXPECT_EQ(code_of_text("rcpt_allow_fails=1"), 0);
    EXPECT_EQ(code_of_text("no_such_key=1"), -24);
    EXPECT_EQ(code_of_text("timeout=x"), -25);
    EXPECT_EQ(code_of_text("sslcerttype=x"), -23);
    EXPECT_EQ(code_of_text("mode=x"), -21);
    EXPECT_EQ(smtp::curlev_code(error()), 0);
    EXPECT_EQ(sink.count(), 0u);
    mail.stop();
    EXPECT_EQ(code_of(mail, a_message()), -11);
}

TEST(smtp_curlev_keys, are_all_read) {
    // The keys of curlev's three texts, with values of theirs.
    for (const char* text : {
             "mode=none",
             "mode=basic",
             "mode=digest",
             "mode=bearer",
             "user=joe",
             "secret=abc",
             "accept_compression=1",
             "connect_timeout=30000",
             "cookies=0",
             "follow_location=0",
             "follow_location=1",
             "follow_location=2",
             "follow_location=3",
             "insecure=0",
             "maxredirs=5",
             "proxy=http://joe:p@127.0.0.1:1",
             "rcpt_allow_fails=0",
             "timeout=30000",
             "verbose=0",
             "engine=x",
             "sslcert=x",
             "sslcerttype=PEM",
             "sslcerttype=DER",
             "sslcerttype=P12",
             "sslkey=x",
             "sslkeytype=PEM",
             "sslkeytype=DER",
             "sslkeytype=ENG",
             "sslkeytype=PROV",
             "keypasswd=x",
             "cainfo=x",
             "capath=x",
             "proxy_sslcert=x",
             "proxy_sslcerttype=PEM",
             "proxy_sslkey=x",
             "proxy_sslkeytype=PEM",
             "proxy_keypasswd=x",
             "proxy_cainfo=x",
             "proxy_capath=x",
         }) {
        smtp::client_options o;
        const auto read = smtp::read_options(o, text);
        EXPECT_TRUE(read) << text << ": " << read.error();
    }
    smtp::client_options o;
    EXPECT_TRUE(smtp::read_json_options(o, R"({"cookies": true, "maxredirs": 5})"));
}

TEST(smtp_curlev_keys, want_values_also_where_they_have_no_effect) {
    for (const char* text :
         {"accept_compression=x", "cookies=2", "follow_location=4", "maxredirs=-1", "mode=ntlm"}) {
        smtp::client_options o;
        const auto read = smtp::read_options(o, text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error(), std::errc::invalid_argument) << read.error();
    }
}

TEST(smtp_curlev_keys, log_in_as_the_mode_says) {
    const struct {
        const char* text;
        const char* mechanism;
    } rows[] = {
        {"user=joe,secret=p", "PLAIN"},
        {"mode=basic,user=joe,secret=p", "PLAIN"},
        {"mode=digest,user=joe,secret=p,token=t", "PLAIN"},
        {"mode=bearer,user=joe,secret=t", "XOAUTH2"},
        {"user=joe,secret=t,mode=bearer", "XOAUTH2"},
        {"user=joe,secret=p,token=t,mode=bearer", "XOAUTH2"},
        {"mode=none,user=joe,secret=p", ""},
    };
    smtp_sink_options so;
    so.user = "joe";
    so.password = secret("p");
    so.token = secret("t");
    so.mechanisms = "XOAUTH2 PLAIN";
    smtp_sink sink(so);
    for (const auto& row : rows) {
        smtp::client_options o = plain_mail_options();
        o.authentication.in_clear = true;
        ASSERT_TRUE(smtp::read_options(o, row.text)) << row.text;
        const std::size_t connections = sink.connections();
        smtp::client mail(sink.url(), o);
        if (*row.mechanism == '\0') {
            // The server wants a login before MAIL.
            EXPECT_EQ(code_of(mail, a_message()), 55) << row.text;
            continue;
        }
        EXPECT_EQ(code_of(mail, a_message()), 0) << row.text;
        EXPECT_EQ(code_of(mail, a_message()), 0) << row.text;
        ASSERT_EQ(sink.count(), 2u) << row.text;
        EXPECT_EQ(sink.messages()[0].mechanism, row.mechanism) << row.text;
        EXPECT_EQ(sink.connections(), connections + 1) << "the second mail reuses it";
        sink.clear();
    }
}

TEST(smtp_curlev_keys, give_the_url_no_login_where_the_mode_is_none) {
    smtp_sink_options so;
    so.any_login = true;
    smtp_sink sink(so);
    std::string url = sink.url();
    url.insert(url.find("//") + 2, "joe:p@");
    for (const bool none : {false, true}) {
        smtp::client_options o = plain_mail_options();
        o.authentication.in_clear = true;
        if (none) o.authentication.mode = smtp::login_mode::none;
        EXPECT_EQ(code_at(url, o), 0);
        EXPECT_EQ(sink.messages().at(none ? 1 : 0).user, none ? "" : "joe");
    }
}

TEST(smtp_curlev_code, comes_with_curlevs_defaults) {
    EXPECT_EQ(smtp::curlev_defaults().total_timeout, std::chrono::seconds(30));
}
