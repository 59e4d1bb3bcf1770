// A multipart body with the boundary "b". The first byte of the input says how to cut the rest.
// Checked: any cut gives the same parts and verdict, no byte is looked at more than twice, and what
// was read and is written again reads as the same; what stands in a Content-Disposition or a
// Content-Type survives as well.
#include "exact_bytes.hpp"
#include "require.hpp"

#include <coracle/base/error.hpp>
#include <coracle/mime/disposition.hpp>
#include <coracle/mime/media_type.hpp>
#include <coracle/mime/multipart.hpp>
#include <coracle/mime/multipart_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace coracle::mime;
using kind = multipart_event::kind;

namespace {

constexpr multipart_limits limits{.header_bytes = 128, .fields = 4, .parts = 8, .boundary = 70};

struct part {
    std::vector<std::pair<std::string, std::string>> fields;
    std::string data;
    bool ended = false;

    friend bool operator==(const part&, const part&) = default;
};

struct outcome {
    std::vector<part> parts;
    multipart_error error = multipart_error::none;

    friend bool operator==(const outcome&, const outcome&) = default;
};

bool feed(multipart_parser& parser, std::string_view in, outcome& out) {
    for (;;) {
        const multipart_event e = parser.parse(in);
        require(e.consumed <= in.size());
        in.remove_prefix(e.consumed);
        switch (e.what) {
            case kind::need_more: require(in.empty()); return true;
            case kind::part_begin:
                out.parts.emplace_back();
                for (const part_field& f : parser.fields()) {
                    out.parts.back().fields.emplace_back(f.name, f.value);
                }
                break;
            case kind::data:
                require(!e.data.empty() && !out.parts.empty() && !out.parts.back().ended);
                out.parts.back().data += e.data;
                break;
            case kind::part_end: out.parts.back().ended = true; break;
            case kind::end:
            case kind::error: return false;
        }
    }
}

outcome parse(std::string_view bytes, std::size_t step, std::string_view boundary = "b",
              const multipart_limits& with = limits) {
    multipart_parser parser(boundary, with);
    outcome out;
    bool more = true;
    for (std::size_t at = 0; more && at < bytes.size(); at += step) {
        const exact_bytes exact(bytes.substr(at, step));
        more = feed(parser, exact.view(), out);
    }
    out.error = parser.finish();
    require(parser.examined() <= 2 * bytes.size() + 2 * boundary.size() + 8);
    require(out.parts.size() == parser.parts() || out.error != multipart_error::none);
    return out;
}

// Made of the input: a fixed seed is soon found by the fuzzer and put into the parts.
boundary_seed seed_of(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : bytes) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    return {hash, ~hash};
}

void require_round_trip(const outcome& body, boundary_seed seed) {
    multipart_builder builder(seed);
    std::size_t size = 0;
    for (const part& p : body.parts) {
        std::vector<part_field> fields;
        for (const auto& [name, value] : p.fields) fields.push_back({name, value});
        builder.add_part(fields, p.data);
        size += p.data.size();
    }
    const std::string written = builder.text();
    require(written.size() == builder.size() && written.size() > size);
    const std::string boundary(multipart_writer(seed).boundary());
    require(parse(written, written.size(), boundary, {}) == body);
}

/// Returns true for texts of which no form has all bytes (HTML standard, multipart/form-data).
template <class Text>
bool is_changed(const Text& text) {
    const std::string_view all = text ? std::string_view(*text) : std::string_view();
    return all.find_first_of(std::string_view("\r\n\"\0%", 5)) != std::string_view::npos;
}

void require_fields_survive(const part& p) {
    for (const auto& [name, value] : p.fields) {
        const auto d = parse_disposition(value);
        if (d) {
            const std::string text = format_disposition(*d);
            require(text.find_first_of("\r\n") == std::string::npos);
            const auto again = parse_disposition(text);
            require(again.has_value() && again->type == d->type);
            // Other types write what is no UTF-8 as they can.
            const bool is_form = d->type == "form-data";
            require(!is_form || is_changed(d->name) || again->name == d->name);
            require(!is_form || is_changed(d->filename) || again->filename == d->filename);
            if (d->filename) {
                const std::string safe = safe_filename(*d->filename);
                require(safe.size() <= 255 && safe.find_first_of("/\\\r\n") == std::string::npos);
                require(!safe.starts_with('.') && safe_filename(safe) == safe);
            }
        }
        const auto type = parse_media_type(value);
        require(!type || type->essence.find('/') != std::string::npos);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const outcome whole = parse(bytes, bytes.size());
    require(parse(bytes, 1) == whole);
    require(parse(bytes, data[0] % 32U + 1U) == whole);
    for (const part& p : whole.parts) require_fields_survive(p);
    if (whole.error == multipart_error::none) {
        require_round_trip(whole, seed_of(bytes));
    }
    return 0;
}
