// A mail. The first byte of the input says how to cut the rest. Checked: any cut gives the same
// parts, content and defects, parts nest, limits hold, and what stands in headers (addresses,
// dates, encoded words, parameters) reads again as it was read when it is written.
#include "require.hpp"

#include <coracle/mime/address.hpp>
#include <coracle/mime/date.hpp>
#include <coracle/mime/encoded_word.hpp>
#include <coracle/mime/extended_parameter.hpp>
#include <coracle/mime/message_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle::mime;
using kind = message_event::kind;

namespace {

constexpr message_limits limits{.header_bytes = 512, .fields = 16, .parts = 16, .depth = 6};

struct outcome {
    std::string text;
    message_defects defects;

    friend bool operator==(const outcome&, const outcome&) = default;
};

void take(const message_event& e, const message_parser& parser, std::string& out, int& depth) {
    if (e.what == kind::part_begin) {
        require(static_cast<int>(parser.part().depth) == depth++);
        require(parser.part().fields.size() <= limits.fields);
        out += '\x01' + parser.part().type.essence + '\x02';
        for (const message_field& f : parser.part().fields) out += f.name + ':' + f.value + '\x03';
    } else if (e.what == kind::data) {
        require(!e.data.empty() && depth > 0);
        out += e.data;
    } else if (e.what == kind::part_end) {
        require(depth-- > 0);
        out += '\x04';
    }
}

outcome read(std::string_view in, std::size_t step) {
    message_parser parser(limits);
    outcome o;
    int depth = 0;
    while (!in.empty()) {
        const std::string piece(in.substr(0, step));
        in.remove_prefix(piece.size());
        for (std::string_view rest = piece;;) {
            const message_event e = parser.parse(rest);
            require(e.consumed <= rest.size());
            rest.remove_prefix(e.consumed);
            take(e, parser, o.text, depth);
            if (e.what != kind::need_more) continue;
            require(rest.empty());
            break;
        }
    }
    for (auto e = parser.finish(); e.what != kind::end; e = parser.finish()) {
        take(e, parser, o.text, depth);
    }
    require(depth == 0 && parser.parts() >= 1);
    o.defects = parser.defects();
    return o;
}

void require_fields_survive(std::string_view bytes) {
    if (const auto all = parse_addresses(bytes)) {
        for (const address& a : *all) {
            for (const mailbox& m : a.members) {
                require(is_address(m.address));
                const auto text = format_mailbox(m, header_charset::utf8);
                require(text.has_value());
                const auto again = parse_mailbox(*text);
                require(again.has_value() && again->address == m.address);
            }
        }
    }
    if (const auto d = parse_date(bytes)) {
        const auto again = parse_date(format_date(*d));
        require(again.has_value());
        // Others are written as the nearest that a mail may have.
        constexpr std::int64_t year_1901 = -2'177'452'800;
        constexpr std::int64_t year_9999 = 253'370'764'800;
        const bool is_usual = d->unix_time >= year_1901 && d->unix_time < year_9999;
        require(!is_usual || again == d);
    }
    const std::string text = decode_words(bytes);
    if (text.find_first_of("\r\n") == std::string::npos) {
        require(decode_words(encode_words(text)) == text);
        std::string value = "x";
        append_parameter(value, "name", text);
        const auto read = parse_parameters(std::string_view(value).substr(1));
        require(read && read->size() == 1 && read->front().value == text);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const outcome whole = read(bytes, bytes.size());
    require(read(bytes, 1) == whole);
    require(read(bytes, data[0] % 32U + 1U) == whole);
    if (bytes.size() < 4096) require_fields_survive(bytes);
    return 0;
}
