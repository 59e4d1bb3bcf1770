#include <coracle/mime/multipart.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle::mime;
using kind = multipart_event::kind;

namespace {

/// The reports of a parser as text: "[name: value|...]" begins a part, "]" ends it, "." is the end
/// of a whole body.
struct outcome {
    std::string told;
    multipart_error error = multipart_error::none;
    std::uint64_t examined = 0;

    friend bool operator==(const outcome& a, const outcome& b) {
        return a.told == b.told && a.error == b.error;
    }
};

void begin_part(outcome& out, const multipart_parser& parser) {
    out.told += '[';
    for (const part_field& f : parser.fields()) {
        out.told.append(f.name).append(": ").append(f.value).append("|");
    }
    out.told += '>';
}

/// Feeds one piece; false when there is no more to come.
bool feed(multipart_parser& parser, std::string_view in, outcome& out) {
    for (;;) {
        const multipart_event e = parser.parse(in);
        EXPECT_LE(e.consumed, in.size());
        in.remove_prefix(e.consumed);
        switch (e.what) {
            case kind::need_more: EXPECT_TRUE(in.empty()); return true;
            case kind::part_begin: begin_part(out, parser); break;
            case kind::data:
                EXPECT_FALSE(e.data.empty());
                out.told += e.data;
                break;
            case kind::part_end: out.told += ']'; break;
            case kind::end: out.told += '.'; return false;
            case kind::error: out.error = e.error; return false;
        }
    }
}

outcome parse(std::string_view bytes, std::size_t first, std::size_t step,
              const multipart_limits& limits = {}, std::string_view boundary = "b") {
    multipart_parser parser(boundary, limits);
    outcome out;
    bool more = true;
    for (std::size_t at = 0; more && at < bytes.size();) {
        const std::size_t n = std::min(at == 0 && first != 0 ? first : step, bytes.size() - at);
        more = feed(parser, std::string(bytes.substr(at, n)), out);
        at += n;
    }
    out.error = parser.finish();
    if (more && out.error == multipart_error::none) out.told += '.';
    out.examined = parser.examined();
    return out;
}

/// Parses the bytes; the outcome must not depend on how they are cut.
outcome parse(std::string_view bytes, const multipart_limits& limits = {},
              std::string_view boundary = "b") {
    outcome whole = parse(bytes, 0, std::max<std::size_t>(bytes.size(), 1), limits, boundary);
    if (bytes.size() > 4096) return whole;
    for (std::size_t step = 1; step != 6; ++step) {
        EXPECT_EQ(parse(bytes, 0, step, limits, boundary), whole) << "pieces of " << step;
    }
    for (std::size_t first = 1; first < bytes.size(); ++first) {
        EXPECT_EQ(parse(bytes, first, bytes.size(), limits, boundary), whole) << "cut at " << first;
    }
    return whole;
}

std::string told(std::string_view bytes, std::string_view boundary = "b") {
    const outcome out = parse(bytes, {}, boundary);
    EXPECT_EQ(out.error, multipart_error::none);
    return out.told;
}

multipart_error failure(std::string_view bytes, const multipart_limits& limits = {}) {
    return parse(bytes, limits).error;
}

/// A body of one part with these header lines.
std::string with_header(const std::string& lines) {
    return "--b\r\n" + lines + "\r\nx\r\n--b--\r\n";
}

std::string with_parts(std::size_t n) {
    std::string all;
    for (std::size_t i = 0; i != n; ++i) all += "--b\r\n\r\nx\r\n";
    return all + "--b--";
}

}  // namespace

TEST(multipart_parser, gives_the_parts_of_a_form) {
    EXPECT_EQ(told("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
                   "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n"
                   "Content-Type: text/plain\r\n\r\nline\r\nline\r\n\r\n--b--\r\n"),
              "[Content-Disposition: form-data; name=\"a\"|>1]"
              "[Content-Disposition: form-data; name=\"f\"; filename=\"x\"|"
              "Content-Type: text/plain|>line\r\nline\r\n].");
}

TEST(multipart_parser, may_have_no_limits) {
    multipart_limits none;
    none.header_bytes = SIZE_MAX;
    EXPECT_EQ(parse(with_header("A: 1\r\nB: 2\r\n"), none).told, "[A: 1|B: 2|>x].");
}

TEST(multipart_parser, passes_over_what_stands_before_and_behind) {
    EXPECT_EQ(told("This is MIME.\r\n--\r\n--c\r\n\r\n--b\r\n\r\nx\r\n--b--\r\nbye\r\n--b\r\n"),
              "[>x].");
    EXPECT_EQ(told("\r\n--b\r\n\r\nx\r\n--b--"), "[>x].");
    EXPECT_EQ(told("x--b\r\n\r\n--b\r\n\r\ny\r\n--b--"), "[>y].");
}

TEST(multipart_parser, takes_blanks_behind_a_boundary) {
    EXPECT_EQ(told("--b \t \r\n\r\nx\r\n--b\t\r\n\r\ny\r\n--b-- \r\n"), "[>x][>y].");
}

TEST(multipart_parser, takes_empty_parts_and_no_parts) {
    EXPECT_EQ(told("--b--\r\n"), ".");
    EXPECT_EQ(told("--b\r\nA: 1\r\n\r\n\r\n--b--"), "[A: 1|>].");
    // The line end of the header may be that of the boundary (RFC 2046 section 5.1.1).
    EXPECT_EQ(told("--b\r\nA: 1\r\n\r\n--b--"), "[A: 1|>].");
    EXPECT_EQ(told("--b\r\n\r\n--b\r\n\r\n\r\n\r\n--b--"), "[>][>\r\n].");
}

TEST(multipart_parser, keeps_what_looks_like_a_boundary) {
    EXPECT_EQ(told("--b\r\n\r\n\r\n-\r\n--\r\n\r\r\n--a\r\n-b\n--b--b\r--b\r\n--b--"),
              "[>\r\n-\r\n--\r\n\r\r\n--a\r\n-b\n--b--b\r--b].");
    EXPECT_EQ(told("--b\r\n\r\n--x\r\n--b--"), "[>--x].");
    EXPECT_EQ(told("--b\r\n\r\n-\r\n--b--"), "[>-].");
    EXPECT_EQ(told("--b\r\n\r\n\r\r\n--b--"), "[>\r].");
    EXPECT_EQ(told("--bbbb\r\n\r\n\r\n--bb\r\n--bbb-\r\n--bbbb--", "bbbb"),
              "[>\r\n--bb\r\n--bbb-].");
}

TEST(multipart_parser, unfolds_and_trims_fields) {
    EXPECT_EQ(told(with_header("A: 1\r\n\t 2\r\n 3\r\nB:\r\nC:  x \t\r\n")),
              "[A: 1\t 2 3|B: |C: x|>x].");
}

TEST(multipart_parser, finds_fields_without_case) {
    const part_field fields[] = {{"Content-Type", "a"}, {"content-type", "b"}};
    EXPECT_EQ(find_field(fields, "CONTENT-TYPE"), "a");
    EXPECT_EQ(find_field(fields, "content-typ"), "");
}

TEST(multipart_parser, refuses_lines_that_are_no_delimiter) {
    for (const char* line : {"--bx\r\n", "--b-\r\n", "--b-x", "--b \tx\r\n", "--b\rx", "--b\n",
                             "--b -\r\n", "--b\r\r\n"}) {
        EXPECT_EQ(failure(std::string(line) + "\r\nx\r\n--b--"),
                  multipart_error::malformed_delimiter)
            << line;
        EXPECT_EQ(failure("--b\r\n\r\nx\r\n" + std::string(line) + "\r\n--b--"),
                  multipart_error::malformed_delimiter)
            << line;
    }
}

TEST(multipart_parser, refuses_what_stands_in_the_line_of_the_last_boundary) {
    for (const char* behind : {"x", "-", "garbage\r\n", " x", "\t-\r\n", "\n", "\rx", "\r\r\n"}) {
        EXPECT_EQ(failure("--b--" + std::string(behind)), multipart_error::malformed_delimiter)
            << behind;
        EXPECT_EQ(failure("--b\r\n\r\nx\r\n--b--" + std::string(behind)),
                  multipart_error::malformed_delimiter)
            << behind;
    }
    EXPECT_EQ(failure("--b--\r"), multipart_error::truncated);
    for (const char* behind : {"", " ", "\t ", "\r\n", " \r\n", "\r\ngarbage", "\r\n--b--x"}) {
        EXPECT_EQ(told("--b\r\n\r\nx\r\n--b--" + std::string(behind)), "[>x].") << behind;
    }
}

TEST(multipart_parser, refuses_malformed_fields) {
    using namespace std::string_literals;
    for (const std::string& line :
         {"A\r\n"s, ": x\r\n"s, "A : x\r\n"s, " A: x\r\n"s, "A: x\n"s, "A: \rx\r\n"s, "A: \0\r\n"s,
          "A: x\r\nB\0: y\r\n"s, "\xC3\xA9: x\r\n"s, "--b\r\n"s, "--b: x\r\n"s}) {
        EXPECT_EQ(failure(with_header(line)), multipart_error::malformed_field) << line;
    }
    EXPECT_EQ(failure("--b\r\n\nx\r\n--b--"), multipart_error::malformed_field);
}

TEST(multipart_parser, tells_a_body_that_was_cut) {
    const std::string whole = "--b\r\nA: 1\r\n\r\nx\r\n--b--";
    for (std::size_t n = 0; n != whole.size(); ++n) {
        EXPECT_EQ(failure(whole.substr(0, n)), multipart_error::truncated) << n;
    }
    EXPECT_EQ(failure(whole), multipart_error::none);
}

TEST(multipart_parser, takes_boundaries_as_they_may_be) {
    const auto first = [](const std::string& boundary) {
        return parse("--" + boundary + "--", {}, boundary).error;
    };
    EXPECT_EQ(first(std::string(69, 'x')), multipart_error::none);
    EXPECT_EQ(first(std::string(70, 'x')), multipart_error::none);
    EXPECT_EQ(first(std::string(71, 'x')), multipart_error::invalid_boundary);
    EXPECT_EQ(first("'()+_,-./:=? x"), multipart_error::none);
    for (const char* bad : {"", "x ", "x\r", "x\ny", "\xC3\xA9"}) {
        EXPECT_EQ(first(bad), multipart_error::invalid_boundary) << bad;
    }
}

TEST(multipart_parser, holds_the_header_of_a_part_to_the_byte) {
    const auto of = [](std::size_t n) {
        return with_header("A: " + std::string(n - 5, 'x') + "\r\n");
    };
    const multipart_limits limits{.header_bytes = 100};
    EXPECT_EQ(failure(of(99), limits), multipart_error::none);
    EXPECT_EQ(failure(of(100), limits), multipart_error::none);
    EXPECT_EQ(failure(of(101), limits), multipart_error::header_too_large);
    EXPECT_EQ(failure("--b\r\n" + std::string(101, 'x'), limits),
              multipart_error::header_too_large);
    // Each byte of folded lines counts.
    EXPECT_EQ(failure(with_header("A: " + std::string(90, 'x') + "\r\n x\r\n"), limits),
              multipart_error::none);
    EXPECT_EQ(failure(with_header("A: " + std::string(91, 'x') + "\r\n x\r\n"), limits),
              multipart_error::none);
    EXPECT_EQ(failure(with_header("A: " + std::string(92, 'x') + "\r\n x\r\n"), limits),
              multipart_error::header_too_large);
    EXPECT_EQ(failure(of(16 * 1024)), multipart_error::none);
    EXPECT_EQ(failure(of(16 * 1024 + 1)), multipart_error::header_too_large);
}

TEST(multipart_parser, holds_the_number_of_fields) {
    const auto of = [](std::size_t n) {
        std::string all;
        for (std::size_t i = 0; i != n; ++i) all += "A: 1\r\n";
        return with_header(all);
    };
    EXPECT_EQ(failure(of(31)), multipart_error::none);
    EXPECT_EQ(failure(of(32)), multipart_error::none);
    EXPECT_EQ(failure(of(33)), multipart_error::too_many_fields);
}

TEST(multipart_parser, holds_the_number_of_parts) {
    EXPECT_EQ(failure(with_parts(999)), multipart_error::none);
    EXPECT_EQ(failure(with_parts(1000)), multipart_error::none);
    EXPECT_EQ(failure(with_parts(1001)), multipart_error::too_many_parts);
    EXPECT_EQ(failure(with_parts(2), {.parts = 2}), multipart_error::none);
    EXPECT_EQ(failure(with_parts(3), {.parts = 2}), multipart_error::too_many_parts);
}

TEST(multipart_parser, stays_at_its_end_and_at_its_error) {
    multipart_parser good("b");
    multipart_parser bad("");
    EXPECT_EQ(good.parse("--b--").what, kind::need_more);
    EXPECT_EQ(good.finish(), multipart_error::none);
    EXPECT_EQ(good.parse("\r\n").what, kind::end);
    EXPECT_EQ(good.parse("--b\r\n").what, kind::end);
    EXPECT_EQ(bad.parse("x").what, kind::error);
    EXPECT_EQ(bad.parse("").error, multipart_error::invalid_boundary);
}

TEST(multipart_parser, looks_at_no_byte_more_than_twice) {
    const std::string boundary(70, '-');
    const std::string almost = "\r\n" + std::string(71, '-') + 'x';
    std::string cr_only(20'000, '\r');
    std::string near_misses;
    while (near_misses.size() < 20'000) near_misses += almost;
    std::string cr_lf;
    while (cr_lf.size() < 20'000) cr_lf += "\r\n";
    for (const std::string& data : {cr_only, near_misses, cr_lf, std::string(20'000, '-')}) {
        const std::string body = "--" + boundary + "\r\n\r\nx" + data + "\r\n--" + boundary + "--";
        for (const std::size_t step :
             {std::size_t{1}, std::size_t{73}, std::size_t{74}, std::size_t{4096}, body.size()}) {
            const outcome out = parse(body, 0, step, {}, boundary);
            EXPECT_EQ(out.told.size(), data.size() + 5) << step;
            EXPECT_LE(out.examined, 2 * body.size() + 2 * boundary.size()) << step;
        }
    }
}
