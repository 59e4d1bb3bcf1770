#include <coracle/mime/mail_layout.hpp>
#include <coracle/mime/message_parser.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace coracle::mime;
using kind = message_event::kind;

namespace {

/// "<type ...>" for each part, its data in between.
struct reading {
    explicit reading(const message_limits& limits = {}) : parser(limits) {}

    void take(const message_event& e) {
        if (e.what == kind::part_begin) {
            out += '<' + parser.part().type.essence + ' ';
        } else if (e.what == kind::data) {
            EXPECT_FALSE(e.data.empty());
            out += e.data;
        } else if (e.what == kind::part_end) {
            out += '>';
        }
    }
    void add(std::string_view in) {
        for (;;) {
            const message_event e = parser.parse(in);
            in.remove_prefix(e.consumed);
            take(e);
            if (e.what == kind::need_more) break;
        }
        EXPECT_TRUE(in.empty());
    }
    void finish() {
        for (auto e = parser.finish(); e.what != kind::end; e = parser.finish()) take(e);
        EXPECT_EQ(parser.finish().what, kind::end);
    }

    message_parser parser;
    std::string out;
};

std::string read(std::string_view mail, std::size_t step = SIZE_MAX, message_defects* d = nullptr,
                 const message_limits& limits = {}) {
    reading r(limits);
    for (std::size_t at = 0; at < mail.size(); at += std::min(step, mail.size())) {
        r.add(mail.substr(at, step));
    }
    r.finish();
    if (d != nullptr) *d = r.parser.defects();
    return r.out;
}

struct row {
    const char* name;
    std::string mail;
    std::string wanted;
    message_defects defects = {};
};

std::vector<row> rows() {
    const std::string m = "Content-Type: multipart/mixed; boundary=\"b\"\r\n\r\n";
    std::vector<row> all = {
        {"empty", "", "<text/plain >"},
        {"only a header", "A: 1\r\n", "<text/plain >"},
        {"plain", "A: 1\r\n\r\nHello\r\n", "<text/plain Hello\r\n>"},
        {"line feeds", "A: 1\n\nHello\nyou", "<text/plain Hello\nyou>"},
        {"no header", "\r\nHello", "<text/plain Hello>"},
        {"base64", "Content-Transfer-Encoding: base64\r\n\r\naGFs\r\nbG8=\r\n",
         "<text/plain hallo>"},
        {"quoted", "Content-Transfer-Encoding: Quoted-Printable\r\n\r\nGr=C3=BC=\r\nn \r\n",
         "<text/plain Gr\xc3\xbcn\r\n>"},
        {"folded", "Content-Type:\r\n text/html;\r\n\tcharset=x\r\n\r\nx", "<text/html x>"},
        {"mbox", "From a@b Mon\r\nContent-Type: text/html\r\n\r\nx", "<text/html x>"},
        {"mixed",
         m + "pre\r\n--b\r\n\r\none\r\n--b\r\nContent-Type: "
             "text/html\r\n\r\ntwo\r\n\r\n--b--\r\nafter",
         "<multipart/mixed <text/plain one><text/html two\r\n>>"},
        {"line feeds in parts", "Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b--\n",
         "<multipart/mixed <text/plain one>>"},
        {"empty parts", m + "--b\r\n\r\n\r\n--b\r\n\r\n--b\r\n--b--\r\n",
         "<multipart/mixed <text/plain ><text/plain ><text/plain >>"},
        {"blanks behind a boundary", m + "--b \t\r\n\r\none\r\n--b--  \r\n",
         "<multipart/mixed <text/plain one>>"},
        {"not quite a boundary", m + "--b\r\n\r\n--bb\r\n--b x\r\n -- b\r\n--\r\n-\r\n--b--\r\n",
         "<multipart/mixed <text/plain --bb\r\n--b x\r\n -- b\r\n--\r\n->>"},
        {"a boundary behind the last one", m + "--b--\r\n--b\r\n\r\nx", "<multipart/mixed >"},
        {"nested",
         m + "--b\r\nContent-Type: multipart/alternative; "
             "boundary=c\r\n\r\n--c\r\n\r\none\r\n--c--\r\n"
             "--b\r\n\r\ntwo\r\n--b--\r\n",
         "<multipart/mixed <multipart/alternative <text/plain one>><text/plain two>>"},
        {"a message",
         m + "--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\nContent-Type: "
             "text/html\r\n\r\n"
             "inner\r\n--b--\r\n",
         "<multipart/mixed <message/rfc822 <text/html inner>>>"},
        {"a digest",
         "Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\r\nSubject: x\r\n\r\none\r\n"
         "--b\r\nContent-Type: text/plain\r\n\r\ntwo\r\n--b--",
         "<multipart/digest <message/rfc822 <text/plain one>><text/plain two>>"},
        {"a status", "Content-Type: message/delivery-status\r\n\r\nA: b\r\n",
         "<message/delivery-status A: b\r\n>"},
        {"what only is called a message",
         "Content-Type: message/disposition-notification\r\n\r\nA: b\r\n",
         "<message/disposition-notification A: b\r\n>"},
        {"a message in UTF-8", "Content-Type: message/global\r\n\r\nA: b\r\n\r\nc",
         "<message/global <text/plain c>>"},
        {"comments",
         "Content-Type: multipart/mixed (x; y); boundary=\"b\" (made by \\) x (z)) (too)\r\n\r\n"
         "--b\r\nContent-Transfer-Encoding: (std) base64 (std)\r\n"
         "Content-Type: (a) text/html (b)\r\n\r\naGFsbG8=\r\n--b--\r\n",
         "<multipart/mixed <text/html hallo>>"},
        {"a comment of a boundary without quotes",
         "Content-Type: multipart/mixed; boundary=b (made by x)\r\n\r\n"
         "--b\r\n\r\none\r\n--b--\r\n",
         "<multipart/mixed <text/plain one>>"},
        {"a type that is none", "Content-Type: text\r\n\r\nx", "<text/plain x>"},
    };
    row r{"a boundary never comes", m + "text\r\n", "<multipart/mixed >", {}};
    r.defects.missing_start = r.defects.missing_end = true;
    all.push_back(r);
    r = {
        "no last boundary", m + "--b\r\n\r\none\r\n", "<multipart/mixed <text/plain one\r\n>>", {}};
    r.defects.missing_end = true;
    all.push_back(r);
    r = {"an outer boundary ends an inner part",
         m + "--b\r\nContent-Type: multipart/alternative; "
             "boundary=c\r\n\r\n--c\r\n\r\none\r\n--b--\r\n",
         "<multipart/mixed <multipart/alternative <text/plain one>>>",
         {}};
    r.defects.missing_end = true;
    all.push_back(r);
    r = {"no boundary at all",
         "Content-Type: multipart/mixed\r\n\r\nx\r\n",
         "<multipart/mixed x\r\n>",
         {}};
    r.defects.no_boundary = true;
    all.push_back(r);
    r = {
        "no empty line", "A: 1\r\nHello you\r\nB: 2\r\n", "<text/plain Hello you\r\nB: 2\r\n>", {}};
    r.defects.malformed_field = true;
    all.push_back(r);
    r = {"damaged", "Content-Transfer-Encoding: base64\r\n\r\naGFs*bG8=", "<text/plain hallo>", {}};
    r.defects.damaged_content = true;
    all.push_back(r);
    r = {
        "an unknown encoding", "Content-Transfer-Encoding: x\r\n\r\na=3D", "<text/plain a=3D>", {}};
    r.defects.unknown_encoding = true;
    all.push_back(r);
    const std::string long_line(5000, '-');
    all.push_back({"a long line", m + "--b\r\n\r\n" + long_line + "\r\n--b--",
                   "<multipart/mixed <text/plain " + long_line + ">>"});
    all.push_back({"a long line of CRs", "\r\n" + std::string(600, '\r') + "\r\nx",
                   "<text/plain " + std::string(600, '\r') + "\r\nx>"});
    return all;
}

}  // namespace

TEST(message_parser, reads_mails_whole_and_in_pieces) {
    for (const row& r : rows()) {
        message_defects defects;
        EXPECT_EQ(read(r.mail, SIZE_MAX, &defects), r.wanted) << r.name;
        EXPECT_EQ(defects, r.defects) << r.name;
        for (const std::size_t step : {1U, 2U, 3U, 5U, 7U, 64U, 300U}) {
            EXPECT_EQ(read(r.mail, step, &defects), r.wanted) << r.name << " by " << step;
            EXPECT_EQ(defects, r.defects) << r.name << " by " << step;
        }
        if (r.mail.size() > 1000) continue;
        for (std::size_t cut = 0; cut <= r.mail.size(); ++cut) {
            reading both;
            both.add(std::string_view(r.mail).substr(0, cut));
            both.add(std::string_view(r.mail).substr(cut));
            both.finish();
            EXPECT_EQ(both.out, r.wanted) << r.name << " cut at " << cut;
        }
    }
}

TEST(message_parser, tells_of_the_header) {
    message_parser parser;
    std::string_view mail =
        "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n you\r\nEmpty:\r\n"
        "Content-Type: application/pdf; name=\"a.pdf\"\r\n"
        "Content-Disposition: Attachment; filename*0*=UTF-8''%C3%A9; filename*1=\".pdf\"\r\n"
        "Content-Transfer-Encoding: base64\r\n\r\nAAA=";
    const message_event e = parser.parse(mail);
    ASSERT_EQ(e.what, kind::part_begin);
    const message_part& p = parser.part();
    EXPECT_EQ(p.field("subject"), "=?utf-8?q?Gr=C3=BC=C3=9Fe?= you");
    EXPECT_EQ(p.field("EMPTY"), "");
    EXPECT_EQ(p.fields.size(), 5u);
    EXPECT_EQ(p.filename(), "é.pdf");
    EXPECT_EQ(p.disposition(), "attachment");
    EXPECT_EQ(p.encoding, transfer_encoding::base64);
    EXPECT_EQ(p.depth, 0u);
    EXPECT_FALSE(p.container);
}

TEST(message_parser, may_have_no_limit_of_its_header) {
    message_limits none;
    none.header_bytes = SIZE_MAX;
    const std::string mail = "Content-Type: text/html\r\nSubject: s\r\n\r\nHello";
    for (const std::size_t step : {std::size_t{1}, std::size_t{30}, SIZE_MAX}) {
        EXPECT_EQ(read(mail, step, nullptr, none), "<text/html Hello>") << step;
    }
}

TEST(message_parser, has_the_same_limits_however_a_mail_arrives) {
    const std::string head = "Content-Type: multipart/mixed; boundary=b\r\n\r\n";
    message_limits small;
    small.header_bytes = 60;
    const std::pair<std::string, message_limits> rows[] = {
        {head + "--b" + std::string(253, ' ') + "\r\n\r\none\r\n--b--\r\n", {}},
        {head + "--b" + std::string(254, ' ') + "\r\n\r\none\r\n--b--\r\n", {}},
        {head + "--b\r\n\r\none\r\n--b" + std::string(300, '\t') + "\ntwo\r\n--b--\r\n", {}},
        {head + "--b\r\n" + std::string(100, 'x') + "\r\ny\r\n--b--\r\n", small},
        {head + "--b\r\nA: " + std::string(100, 'x') + "\r\n\r\ny\r\n--b--\r\n", small},
    };
    for (const auto& [mail, limits] : rows) {
        message_defects whole;
        const std::string wanted = read(mail, SIZE_MAX, &whole, limits);
        for (const std::size_t step : {1U, 2U, 3U, 7U, 64U, 255U, 256U, 257U}) {
            message_defects pieces;
            EXPECT_EQ(read(mail, step, &pieces, limits), wanted) << mail << " by " << step;
            EXPECT_EQ(pieces.limit_reached, whole.limit_reached) << mail << " by " << step;
        }
    }
}

TEST(message_parser, keeps_to_its_limits) {
    message_defects d;
    std::string deep;
    for (int i = 0; i != 40; ++i) deep += "Content-Type: message/rfc822\r\n\r\n";
    std::string wanted = read(deep + "\r\nx", SIZE_MAX, &d, {.depth = 3});
    EXPECT_TRUE(wanted.starts_with("<message/rfc822 <message/rfc822 <message/rfc822 Content-Type"));
    EXPECT_TRUE(d.limit_reached);

    const std::string m = "Content-Type: multipart/mixed; boundary=b\r\n\r\n";
    std::string many = m;
    for (int i = 0; i != 10; ++i) many += "--b\r\n\r\n" + std::to_string(i) + "\r\n";
    many += "--b--\r\n";
    EXPECT_EQ(read(many, SIZE_MAX, &d, {.parts = 11}).size(),
              std::string("<multipart/mixed >").size() + 14 * 10);
    EXPECT_FALSE(d.limit_reached);
    EXPECT_EQ(read(many, SIZE_MAX, &d, {.parts = 3}),
              "<multipart/mixed <text/plain 0><text/plain 1>>");
    EXPECT_TRUE(d.limit_reached);

    const std::string fields = "A: 1\r\nB: 2\r\nC: 3\r\n\r\nx";
    read(fields, 1, &d, {.fields = 3});
    EXPECT_FALSE(d.limit_reached);
    read(fields, 1, &d, {.fields = 2});
    EXPECT_TRUE(d.limit_reached);
    const std::string folded = "A: 1\r\nB: 2\r\n 3\r\nC: 4\r\n 5\r\n\r\nx";
    for (const std::size_t most : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
        reading r(message_limits{.fields = most});
        r.add(folded);
        r.finish();
        const auto& all = r.parser.part().fields;
        ASSERT_EQ(all.size(), most);
        EXPECT_EQ(all[0].value, "1");
        if (most > 1) {
            EXPECT_EQ(all[1].value, "2 3");
        }
        EXPECT_EQ(r.parser.defects().limit_reached, most != 3);
    }
    read(fields, 1, &d, {.header_bytes = 18});
    EXPECT_FALSE(d.limit_reached);
    EXPECT_EQ(read(fields, 1, &d, {.header_bytes = 17}), "<text/plain x>");
    EXPECT_TRUE(d.limit_reached);
    EXPECT_EQ(
        read("A: " + std::string(100'000, 'x') + "\r\n\r\ny", 1000, &d, {.header_bytes = 100}),
        "<text/plain y>");
    EXPECT_TRUE(d.limit_reached);
}

TEST(message_parser, takes_brackets_in_names_for_what_they_are) {
    reading r;
    r.add("Content-Type: text/plain; name=plan (2).pdf\r\nX-Y: ((((\r\n\r\nx");
    r.finish();
    EXPECT_EQ(r.parser.part().filename(), "plan (2).pdf");
    reading commented;
    commented.add("Content-Disposition: Attachment (see it); filename=\"a.pdf\" (new)\r\n\r\nx");
    commented.finish();
    EXPECT_EQ(commented.parser.part().disposition(), "attachment");
    EXPECT_EQ(commented.parser.part().filename(), "a.pdf");
    const std::string many = "Content-Type: text/plain; a=\"(\" ( ( ( (\r\n\r\nx";
    EXPECT_EQ(read(many), "<text/plain x>");
    std::string deep;
    for (int i = 0; i != 50'000; ++i) deep += "( ";
    for (int i = 0; i != 50'000; ++i) deep += ") ";
    EXPECT_EQ(read("Content-Type: text/plain; a=" + deep + "x\r\n\r\nx"), "<text/plain x>");
}

TEST(lay_out_mail, is_read_back_as_it_was_meant) {
    mail_part text;
    text.content_type = "text/plain";
    text.content = "one\r\n--=_b\r\n";
    mail_part file;
    file.content_type = "image/png";
    file.header = "Content-Disposition: inline\r\n";
    file.external = 7;
    file.external_size = 4;
    mail_part inner;
    inner.content_type = "multipart/related; type=\"text/html\"";
    inner.children = {text, file};
    mail_part root;
    root.content_type = "multipart/mixed";
    root.children = {inner, text};
    std::uint64_t seed = 0;
    auto laid = lay_out_mail("Subject: x\r\n", root, [&] { return boundary_seed{0, ++seed}; });
    ASSERT_TRUE(laid);
    ASSERT_EQ(laid->size(), 2u);
    EXPECT_EQ(laid->front().external, 7u);
    std::string all = laid->front().bytes + "ABCD" + laid->back().bytes;
    EXPECT_EQ(size_of(*laid), all.size());
    EXPECT_TRUE(all.starts_with("Subject: x\r\nMIME-Version: 1.0\r\n"));
    EXPECT_EQ(read(all),
              "<multipart/mixed <multipart/related <text/plain one\r\n--=_b\r\n><image/png ABCD>>"
              "<text/plain one\r\n--=_b\r\n>>");
    laid->front().external_size.reset();
    EXPECT_FALSE(size_of(*laid));
}

TEST(lay_out_mail, takes_no_boundary_that_occurs) {
    mail_part text;
    text.content_type = "text/plain";
    mail_part root;
    root.content_type = "multipart/mixed";
    const multipart_writer first(boundary_seed{0, 1});
    text.content = "--=_" + std::string(first.boundary()) + "\r\n";
    root.children = {text, text};
    std::uint64_t seed = 0;
    auto laid = lay_out_mail("", root, [&] { return boundary_seed{0, ++seed}; });
    ASSERT_TRUE(laid);
    EXPECT_EQ(seed, 2u);
    EXPECT_EQ(read(laid->front().bytes), "<multipart/mixed <text/plain " + text.content +
                                             "><text/plain " + text.content + ">>");
}
