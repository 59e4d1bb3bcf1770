#include "http/h2/moved_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::http;

namespace {

/// A head with `count` fields of its own beside two that have a number, in memory that is
/// overwritten when it is gone.
class gone_head {
public:
    gone_head(unsigned count, bool one_piece) {
        std::vector<std::string> texts{"/path?x=1", "host.example", "content-type", "text/plain"};
        texts.insert(texts.end(), {"accept", ""});
        for (unsigned i = 0; i != count; ++i) {
            texts.push_back("x-" + std::to_string(i));
            texts.push_back("value " + std::to_string(i * i));
        }
        for (const std::string& t : texts) text_ += t;
        std::size_t at = 0;
        const auto next = [&](std::size_t i) {
            const std::string_view view = std::string_view(text_).substr(at, texts[i].size());
            at += view.size();
            return view;
        };
        message.path = next(0);
        message.authority = next(1);
        for (std::size_t i = 2; i != texts.size(); i += 2) {
            const std::string_view name = next(i);
            message.fields.push_back({name, next(i + 1), find_field_id(name)});
        }
        if (one_piece) message.text = text_;
    }
    ~gone_head() { text_.assign(text_.size(), '#'); }
    gone_head(const gone_head&) = delete;
    gone_head& operator=(const gone_head&) = delete;

    h2::head message;

private:
    std::string text_;
};

std::string shown(const fields& all) {
    std::string text;
    for (const field& f : all) text.append(f.name).append("=").append(f.value).append(";");
    return text;
}

}  // namespace

TEST(h2_moved_text, is_that_of_the_head_when_that_is_gone) {
    for (const bool one_piece : {true, false}) {
        for (const unsigned count : {0U, 1U, 37U, 38U, 39U, 100U}) {
            fields got;
            std::string_view path;
            std::string wanted = "Content-Type=text/plain;Accept=;";
            for (unsigned i = 0; i != count; ++i) {
                wanted += "x-" + std::to_string(i) + "=value " + std::to_string(i * i) + ';';
            }
            {
                const gone_head from(count, one_piece);
                const h2::moved_text moved(from.message, got.memory());
                path = moved.at(from.message.path);
                const field host{to_string(field_id::host), moved.at(from.message.authority),
                                 field_id::host};
                moved.give_lines(got, from.message.fields, &host);
                EXPECT_TRUE(moved.at({}).empty());
            }
            EXPECT_EQ(path, "/path?x=1");
            EXPECT_EQ(shown(got), wanted + "Host=host.example;") << count;
            EXPECT_EQ(got.get(field_id::host), "host.example");
            // There is room for more.
            got.add("last", "one");
            EXPECT_EQ(got.size(), count + 4);
        }
    }
}

TEST(h2_moved_text, may_be_without_a_line_behind_it) {
    fields got;
    {
        const gone_head from(1, true);
        h2::moved_text(from.message, got.memory()).give_lines(got, from.message.fields);
    }
    EXPECT_EQ(shown(got), "Content-Type=text/plain;Accept=;x-0=value 0;");
}
