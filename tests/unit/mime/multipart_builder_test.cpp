#include <coracle/base/error.hpp>
#include <coracle/mime/disposition.hpp>
#include <coracle/mime/multipart_builder.hpp>

#include <gtest/gtest.h>

using namespace coracle::mime;

namespace {

constexpr boundary_seed seed{0x0123456789abcdef, 0xfedcba9876543210};

/// "name(filename)=data|..." of a body.
std::string parts_of(std::string_view body, std::string_view boundary) {
    multipart_parser parser(boundary);
    std::string all;
    for (;;) {
        const multipart_event e = parser.parse(body);
        body.remove_prefix(e.consumed);
        if (e.what == multipart_event::kind::part_begin) {
            const auto d = parse_disposition(find_field(parser.fields(), "content-disposition"));
            all += d->name.value_or("-") + '(' + d->filename.value_or("") + ")=";
        } else if (e.what == multipart_event::kind::data) {
            all += e.data;
        } else if (e.what == multipart_event::kind::part_end) {
            all += '|';
        } else {
            return parser.finish() == multipart_error::none ? all : "malformed";
        }
    }
}

}  // namespace

TEST(multipart_writer, makes_its_boundary_of_what_it_is_given) {
    const multipart_writer writer(seed);
    EXPECT_EQ(writer.boundary(), "coracle-0123456789abcdeffedcba9876543210");
    EXPECT_EQ(writer.content_type(),
              "multipart/form-data; boundary=coracle-0123456789abcdeffedcba9876543210");
    EXPECT_EQ(writer.content_type("mixed").substr(0, 16), "multipart/mixed;");
}

TEST(multipart_writer, writes_the_lines_around_parts) {
    multipart_writer writer(seed);
    const std::string b(writer.boundary());
    const part_field field{"A", "1"};
    EXPECT_EQ(writer.open_part({&field, 1}), "--" + b + "\r\nA: 1\r\n\r\n");
    EXPECT_EQ(writer.open_part({}), "\r\n--" + b + "\r\n\r\n");
    EXPECT_EQ(writer.close(), "\r\n--" + b + "--\r\n");
    EXPECT_EQ(multipart_writer(seed).close(), "--" + b + "--\r\n");
}

TEST(multipart_writer, refuses_fields_that_would_be_others) {
    multipart_writer writer(seed);
    const part_field bad[] = {{"A\r\nB", "x"},
                              {"A", "x\r\nB: y"},
                              {"", "x"},
                              {"A", std::string_view("\0", 1)},
                              {"A:", "x"}};
    for (const part_field& field : bad) {
        EXPECT_THROW(static_cast<void>(writer.open_part({&field, 1})), coracle::exception);
    }
}

TEST(multipart_writer, refuses_types_that_would_be_fields) {
    const multipart_writer writer(seed);
    for (const char* subtype : {"", "mixed; a=b", "form-data\r\nX-Evil: 1"}) {
        EXPECT_THROW(static_cast<void>(writer.content_type(subtype)), coracle::exception);
    }
}

TEST(multipart_builder, writes_what_the_parser_reads) {
    multipart_builder builder(seed);
    builder.add("a", "1\r\n--coracle-\r\n").add("n\"\r\n", "");
    builder.add_file("f", "boat;\".txt", "text/plain", "hello");
    EXPECT_EQ(builder.size(), builder.text().size());
    EXPECT_EQ(parts_of(builder.text(), "coracle-0123456789abcdeffedcba9876543210"),
              "a()=1\r\n--coracle-\r\n|n\"\r\n()=|f(boat;\".txt)=hello|");
}

TEST(multipart_builder, knows_its_size_with_parts_that_are_brought) {
    multipart_builder builder(seed);
    builder.add("a", "1").add_external("f", "x", "image/png", 5).add("b", "2");
    builder.add_external("g", "y", "image/png", 3);
    std::string body;
    for (const auto& s : builder.segments()) body += s.bytes + std::string(s.external, '#');
    EXPECT_EQ(body.size(), builder.size());
    EXPECT_EQ(parts_of(body, "coracle-0123456789abcdeffedcba9876543210"),
              "a()=1|f(x)=#####|b()=2|g(y)=###|");
}
