#pragma once

#include <coracle/http/h1/head_parser.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

// Runs a head parser over the same bytes cut in every way, each piece at a new address in a block
// of exactly its size, and demands one verdict.
namespace coracle::http::h1::test {

struct verdict {
    parse_status status = parse_status::need_more;
    parse_error error = parse_error::none;
    std::size_t consumed = 0;
    std::string head;  // everything that was understood, as text

    friend bool operator==(const verdict&, const verdict&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const verdict& value) {
    return out << "status " << static_cast<int>(value.status) << ", " << describe(value.error)
               << ", " << value.consumed << " bytes: " << value.head;
}

inline void dump_common(std::string& out, const message_head& head) {
    out += to_string(head.version);
    out += " framing " + std::to_string(static_cast<int>(head.framing));
    out += " length " + std::to_string(head.content_length);
    out += head.has_content_length ? " given" : "";
    out += head.keep_alive ? " keep" : " close";
    out += head.upgrade ? " upgrade" : "";
    for (const head_field& field : head.fields) {
        out.append("\n").append(to_string(field.id)).append(" <");
        out.append(field.name).append("> <").append(field.value).append(">");
    }
}

inline std::string dump(const request_head& head) {
    std::string out;
    for (const std::string_view part :
         {head.method_text, head.target, head.scheme, head.path, head.query, head.host}) {
        out.append("<").append(part).append("> ");
    }
    out += "method " + std::to_string(static_cast<int>(head.method));
    out += " form " + std::to_string(static_cast<int>(head.form));
    out += head.has_query ? " query " : " ";
    out += head.expect_continue ? "expect " : "";
    dump_common(out, head);
    return out;
}

inline std::string dump(const response_head& head) {
    std::string out = std::to_string(head.code) + " <";
    out.append(head.reason).append("> ");
    dump_common(out, head);
    return out;
}

// A copy that ends where its block ends, so that the sanitizer sees every read beyond it.
class exact_copy {
public:
    explicit exact_copy(std::string_view bytes)
        : size_{bytes.size()}, block_{new char[bytes.empty() ? 1 : bytes.size()]} {
        if (!bytes.empty()) {
            std::memcpy(block_.get(), bytes.data(), bytes.size());
        }
    }
    std::string_view view() const { return {block_.get(), size_}; }

private:
    std::size_t size_;
    std::unique_ptr<char[]> block_;
};

struct request_side {
    using head = request_head;
    explicit request_side(scan_mode mode) : parser{mode} {}
    parse_result parse(std::string_view bytes, const head_limits& limits) {
        return parser.parse(bytes, out, limits);
    }
    request_parser parser;
    request_head out;
};

template <method Asked = method::get>
struct response_side {
    using head = response_head;
    explicit response_side(scan_mode mode) : parser{mode} {}
    parse_result parse(std::string_view bytes, const head_limits& limits) {
        return parser.parse(bytes, Asked, out, limits);
    }
    response_parser parser;
    response_head out;
};

// Feeds the prefixes that end at `first`, `first + step`, ... and the whole.
template <class Side>
verdict run(std::string_view bytes, std::size_t first, std::size_t step, scan_mode mode,
            const head_limits& limits) {
    Side side{mode};
    for (std::size_t size = first;; size += step) {
        const exact_copy piece{bytes.substr(0, size)};
        const parse_result result = side.parse(piece.view(), limits);
        if (result.status != parse_status::need_more || size >= bytes.size()) {
            return {result.status, result.error, result.consumed,
                    result.status == parse_status::complete ? dump(side.out) : ""};
        }
    }
}

template <class Side = request_side>
verdict parse_whole(std::string_view bytes, const head_limits& limits = {}) {
    return run<Side>(bytes, bytes.size(), 1, scan_mode::automatic, limits);
}

/// The verdict on `bytes`, after checking that no way to cut them gives another.
template <class Side = request_side>
verdict parse_every_way(std::string_view bytes, const head_limits& limits = {}) {
    const verdict whole = parse_whole<Side>(bytes, limits);
    for (const scan_mode mode : {scan_mode::automatic, scan_mode::scalar}) {
        EXPECT_EQ(run<Side>(bytes, 0, 1, mode, limits), whole) << "byte by byte: " << bytes;
        for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
            EXPECT_EQ(run<Side>(bytes, cut, bytes.size(), mode, limits), whole)
                << "cut at " << cut << ": " << bytes;
        }
    }
    return whole;
}

}  // namespace coracle::http::h1::test
