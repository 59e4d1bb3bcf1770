#pragma once

#include "http/h2/hpack/decoder.hpp"
#include "http/h2/hpack/encoder.hpp"
#include "http/h2/hpack/huffman.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http::h2::hpack {

using fields = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::size_t plenty = 1 << 20;

inline std::string text_of(const fields& all) {
    std::string text;
    for (const auto& [name, value] : all) text += name + ": " + value + '\n';
    return text;
}

/// One direction of a connection.
class reader {
public:
    explicit reader(std::uint32_t table = 4096) : decoder_(table) {}

    /// Returns the fields of a block that arrives in pieces of this size; "failed" behind those
    /// before a fault, "cut" where it is not whole.
    std::string read(std::string_view block, std::size_t piece = plenty,
                     std::size_t most = plenty) {
        decoder_.begin_block();
        buffer out;
        std::string text;
        while (!block.empty()) {
            std::string_view some = block.substr(0, piece);
            block.remove_prefix(some.size());
            for (;;) {
                const auto r = decoder_.next(some, out, most);
                if (r == decoder::result::failed) return text + "failed";
                if (r == decoder::result::more) break;
                if (decoder_.is_whole()) {
                    const std::string_view all = out.view();
                    text.append(all.substr(0, decoder_.name_size())).append(": ");
                    text.append(all.substr(decoder_.name_size())).append("\n");
                } else {
                    text += "too large\n";
                }
                out.clear();
            }
        }
        return decoder_.between_fields() ? text : text + "cut";
    }

private:
    decoder decoder_;
};

inline std::string write(encoder& e, const fields& all, indexing how = indexing::usual) {
    buffer out;
    std::size_t room = encoder::room_for_begin;
    for (const auto& [name, value] : all) room += encoder::room_for(name.size(), value.size());
    out.reserve_spare(room);
    char* at = e.begin_block(out.spare());
    for (const auto& [name, value] : all) {
        at = e.write(at, name, value, find_field_id(name), how);
    }
    e.block_is_sent();
    out.commit(static_cast<std::size_t>(at - out.spare()));
    return std::string(out.view());
}

}  // namespace coracle::http::h2::hpack
