// The head of a response that is repaired. Checked: no line ends in LF alone afterwards, a second
// time there is nothing to do, nothing behind the head is touched, and what the parser accepts as
// it is gives the same fields.
#include "http/h1/repair.hpp"
#include "require.hpp"

#include <coracle/http/h1/head_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle::http;

namespace {

/// The status and fields of a head; empty where it is none.
std::string meaning_of(std::string_view bytes) {
    h1::response_parser parser;
    h1::response_head head;
    if (parser.parse(bytes, method::get, head, {}).status != h1::parse_status::complete) return {};
    std::string text = std::to_string(head.code) + std::string(head.reason) + '\n';
    for (const auto& f : head.fields) text.append(f.name).append("=").append(f.value).append("\n");
    return text + std::to_string(head.content_length) + std::to_string(head.keep_alive);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    const auto head = h1::repair_response_head(bytes);
    if (!head) return 0;
    require(head->size <= bytes.size() && bytes[head->size - 1] == '\n');
    require(head->text.ends_with("\r\n"));
    for (std::size_t at = head->text.find('\n'); at != std::string::npos;
         at = head->text.find('\n', at + 1)) {
        require(at != 0 && head->text[at - 1] == '\r');
    }
    const auto again = h1::repair_response_head(head->text);
    require(again && again->text == head->text);
    const std::string strict = meaning_of(bytes);
    require(strict.empty() || strict == meaning_of(head->text));
    return 0;
}
