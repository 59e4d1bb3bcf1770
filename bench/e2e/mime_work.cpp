// Parses a mail from a file so many times, with its content decoded, or builds one with the file as
// an attachment:
//
//   mime_work parse|build FILE COUNT
//
// Prints the bytes of the mails, and the CPU time that they took.

#include "../support/cpu_time.hpp"

#include <coracle/mime/message_parser.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/smtp/message.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

using namespace coracle;
using kind = mime::message_event::kind;

namespace {

std::size_t parse(std::string_view mail) {
    mime::message_parser parser;
    std::size_t content = 0;
    for (auto e = parser.parse(mail); e.what != kind::need_more; e = parser.parse(mail)) {
        mail.remove_prefix(e.consumed);
        content += e.data.size();
    }
    for (auto e = parser.finish(); e.what != kind::end; e = parser.finish())
        content += e.data.size();
    return content;
}

std::size_t build(const std::string& content) {
    return block_on([&]() -> task<std::size_t> {
        smtp::message m;
        m.from("Ada <ada@x.example>").to("Bob <bob@y.example>").subject("A file");
        m.text("Here.\n").attach("file.bin", content, "application/octet-stream");
        const std::string mail = co_await m.str();
        co_return mail.size();
    });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    std::ifstream file(argv[2], std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const bool parses = std::string_view(argv[1]) == "parse";
    const long count = std::strtol(argv[3], nullptr, 10);
    std::size_t bytes = 0;
    const bench::cpu_time since_now;
    for (long i = 0; i != count; ++i) {
        const std::size_t n = parses ? parse(content) : build(content);
        if (n == 0) return 1;
        bytes += parses ? content.size() : n;
    }
    since_now.print(bytes);
    return 0;
}
