// A Forwarded field, and the nodes in it. Checked: an address that is read reads the same when it
// is written, and the elements of a line keep to their limit and hold no more than it.
#include "require.hpp"

#include <coracle/http/forwarded.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::http;

namespace {

void read_node(std::string_view text) {
    const auto node = parse_forwarded_node(text);
    if (!node) return;
    require(node->family() == net::family::v4 || node->family() == net::family::v6);
    const auto again = parse_forwarded_node(node->to_string());
    require(again && *again == *node);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view line{reinterpret_cast<const char*>(data), size};
    read_node(line);
    const auto elements = parse_forwarded(line);
    if (!elements) return 0;
    require(elements->size() <= most_forwarded_elements);
    std::size_t held = 0;
    for (const forwarded_element& e : *elements) {
        read_node(e.for_node);
        held += e.for_node.size() + e.by_node.size() + e.host.size() + e.proto.size();
    }
    require(held <= line.size());
    return 0;
}
