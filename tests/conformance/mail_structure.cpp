// Prints the structure of the mail on standard input: for each part a line "part DEPTH TYPE", with
// "+" behind it where it holds others, and a line "data HEX" of its content, decoded.

#include <coracle/mime/message_parser.hpp>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

using namespace coracle;
using kind = mime::message_event::kind;

namespace {

/// Writes down parts as they come; children follow their parents.
class printer {
public:
    void take(const mime::message_event& e, const mime::message_parser& parser) {
        if (e.what == kind::data) content_ += e.data;
        if (e.what == kind::part_end) end_leaf();
        if (e.what != kind::part_begin) return;
        const mime::message_part& p = parser.part();
        std::printf("part %zu %s%s\n", p.depth, p.type.essence.c_str(), p.container ? " +" : "");
        is_leaf_ = !p.container;
    }

private:
    void end_leaf() {
        if (!is_leaf_) return;
        std::fputs("data ", stdout);
        for (const char c : content_) std::printf("%02x", static_cast<unsigned>(c) & 0xffU);
        std::fputs("\n", stdout);
        content_.clear();
        is_leaf_ = false;
    }

    std::string content_;
    bool is_leaf_ = false;
};

}  // namespace

int main() {
    const std::string mail{std::istreambuf_iterator<char>(std::cin), {}};
    mime::message_parser parser;
    printer out;
    std::string_view rest = mail;
    for (auto e = parser.parse(rest); e.what != kind::need_more; e = parser.parse(rest)) {
        rest.remove_prefix(e.consumed);
        out.take(e, parser);
    }
    for (auto e = parser.finish(); e.what != kind::end; e = parser.finish()) out.take(e, parser);
    return 0;
}
