#include "net/proxy_protocol.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <charconv>
#include <cstring>

namespace coracle::net {
namespace {

constexpr std::string_view v1_signature = "PROXY ";
constexpr std::string_view v2_signature{"\r\n\r\n\0\r\nQUIT\n", 12};
constexpr std::size_t v2_start = 16;

proxy_result failed(proxy_error why) noexcept {
    return {proxy_status::error, 0, why};
}

/// Returns true if `bytes` and `whole` are equal up to the end of the shorter.
bool may_begin(std::string_view bytes, std::string_view whole) noexcept {
    const std::size_t size = bytes.size() < whole.size() ? bytes.size() : whole.size();
    return bytes.substr(0, size) == whole.substr(0, size);
}

// Version 1: one line of text.

std::string_view take_word(std::string_view& line) noexcept {
    const std::size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    line = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    return word;
}

bool read_port(std::string_view text, std::uint16_t& port) noexcept {
    if (text.empty() || (text.size() > 1 && text.front() == '0')) return false;
    const char* end = text.data() + text.size();
    const auto r = std::from_chars(text.data(), end, port);
    return r.ec == std::errc() && r.ptr == end;
}

std::optional<address> read_address(std::string_view host, std::uint16_t port, bool v6) {
    char text[INET6_ADDRSTRLEN] = "";
    if (host.empty() || host.size() >= sizeof text || host.find('\0') != host.npos) return {};
    std::memcpy(text, host.data(), host.size());
    std::array<std::uint8_t, 4> four{};
    std::array<std::uint8_t, 16> sixteen{};
    if (v6) {
        if (::inet_pton(AF_INET6, text, sixteen.data()) != 1) return {};
        return address::v6(sixteen, port);
    }
    if (::inet_pton(AF_INET, text, four.data()) != 1) return {};
    return address::v4(four, port);
}

/// Reads the text between "PROXY " and CR LF.
bool read_line(std::string_view line, proxy_header& out) {
    out.version = 1;
    const std::string_view protocol = take_word(line);
    if (protocol == "UNKNOWN") {
        out.is_local = true;
        return true;
    }
    const bool v6 = protocol == "TCP6";
    if (!v6 && protocol != "TCP4") return false;
    const std::string_view source = take_word(line);
    const std::string_view destination = take_word(line);
    const std::string_view source_port = take_word(line);
    const std::string_view destination_port = line;
    std::uint16_t from = 0;
    std::uint16_t to = 0;
    if (!read_port(source_port, from) || !read_port(destination_port, to)) return false;
    const auto client = read_address(source, from, v6);
    const auto server = read_address(destination, to, v6);
    if (!client || !server) return false;
    out.source = *client;
    out.destination = *server;
    return true;
}

proxy_result parse_v1(std::string_view bytes, proxy_header& out) {
    const std::size_t end = bytes.substr(0, proxy_limits::line).find_first_of("\r\n");
    if (end == std::string_view::npos || end + 1 == proxy_limits::line) {
        if (bytes.size() < proxy_limits::line) return {};
        return failed(proxy_error::line_too_long);
    }
    if (bytes[end] != '\r') return failed(proxy_error::bad_line);
    if (end + 1 == bytes.size()) return {};
    if (bytes[end + 1] != '\n') return failed(proxy_error::bad_line);
    const std::string_view line = bytes.substr(v1_signature.size(), end - v1_signature.size());
    if (!read_line(line, out)) return failed(proxy_error::bad_line);
    return {proxy_status::header, end + 2, proxy_error::none};
}

// Version 2: binary, in the order of the network.

std::uint8_t byte_at(std::string_view bytes, std::size_t at) noexcept {
    return static_cast<std::uint8_t>(bytes[at]);
}

std::uint16_t number_at(std::string_view bytes, std::size_t at) noexcept {
    return static_cast<std::uint16_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

address v4_at(std::string_view bytes, std::size_t host, std::size_t port) noexcept {
    std::array<std::uint8_t, 4> raw{};
    std::memcpy(raw.data(), bytes.data() + host, raw.size());
    return address::v4(raw, number_at(bytes, port));
}

address v6_at(std::string_view bytes, std::size_t host, std::size_t port) noexcept {
    std::array<std::uint8_t, 16> raw{};
    std::memcpy(raw.data(), bytes.data() + host, raw.size());
    return address::v6(raw, number_at(bytes, port));
}

constexpr std::size_t unix_size = 108;
static_assert(sizeof(sockaddr_un::sun_path) == unix_size);

/// A path that is shorter than its field is padded with zeros; an abstract name begins with one.
address unix_at(std::string_view bytes, std::size_t at) {
    const std::string_view field = bytes.substr(at, unix_size);
    const std::size_t last = field.find_last_not_of('\0');
    const std::size_t size = last == std::string_view::npos ? 0 : last + 1;
    sockaddr_un s{};
    s.sun_family = AF_UNIX;
    std::memcpy(s.sun_path, field.data(), size);
    endpoint e;
    std::memcpy(e.bytes, &s, sizeof s);
    e.size = static_cast<std::uint32_t>(offsetof(sockaddr_un, sun_path) + size);
    return address::from(e);
}

/// Reads the addresses and returns their size in bytes, or nothing.
std::optional<std::size_t> read_addresses(std::uint8_t family, std::string_view bytes,
                                          proxy_header& out) {
    const std::size_t size = family == 1 ? 12 : family == 2 ? 36 : 2 * unix_size;
    if (bytes.size() < size) return {};
    switch (family) {
        case 1:
            out.source = v4_at(bytes, 0, 8);
            out.destination = v4_at(bytes, 4, 10);
            break;
        case 2:
            out.source = v6_at(bytes, 0, 32);
            out.destination = v6_at(bytes, 16, 34);
            break;
        default:
            out.source = unix_at(bytes, 0);
            out.destination = unix_at(bytes, unix_size);
            break;
    }
    return size;
}

/// CRC-32C (RFC 3720 appendix B.4) of `bytes`, with the four bytes at `hole` taken as zeros.
std::uint32_t checksum(std::string_view bytes, std::size_t hole) noexcept {
    std::uint32_t crc = 0xffffffffU;
    for (std::size_t i = 0; i != bytes.size(); ++i) {
        const bool in_hole = i >= hole && i < hole + 4;
        crc ^= in_hole ? 0U : byte_at(bytes, i);
        for (int bit = 0; bit != 8; ++bit) crc = crc >> 1 ^ (crc & 1U ? 0x82f63b78U : 0U);
    }
    return ~crc;
}

struct tlv {
    std::uint8_t type = 0;
    std::string_view value;
};

bool take_tlv(std::string_view& rest, tlv& out) noexcept {
    if (rest.size() < 3) return false;
    const std::size_t size = number_at(rest, 1);
    if (rest.size() - 3 < size) return false;
    out = {byte_at(rest, 0), rest.substr(3, size)};
    rest.remove_prefix(3 + size);
    return true;
}

bool read_tls(std::string_view value, proxy_tls& out) {
    if (value.size() < 5) return false;
    const std::uint8_t client = byte_at(value, 0);
    out.over_tls = (client & 1U) != 0;
    out.has_certificate = (client & 6U) != 0;
    out.verified = out.has_certificate && value.substr(1, 4) == std::string_view("\0\0\0\0", 4);
    std::string_view rest = value.substr(5);
    tlv t;
    while (!rest.empty()) {
        if (!take_tlv(rest, t)) return false;
        switch (t.type) {
            case 0x21: out.version = t.value; break;
            case 0x22: out.common_name = t.value; break;
            case 0x23: out.cipher = t.value; break;
            case 0x24: out.signature_algorithm = t.value; break;
            case 0x25: out.key_algorithm = t.value; break;
            default: break;
        }
    }
    return true;
}

proxy_error read_tlv(std::string_view whole, const tlv& t, proxy_header& out) {
    switch (t.type) {
        case 0x01: out.alpn = t.value; break;
        case 0x02:
            if (t.value.size() > 255) return proxy_error::bad_tlv;
            out.authority = t.value;
            break;
        case 0x03: {
            if (t.value.size() != 4) return proxy_error::bad_tlv;
            const auto hole = static_cast<std::size_t>(t.value.data() - whole.data());
            const std::uint32_t sent =
                static_cast<std::uint32_t>(number_at(t.value, 0)) << 16 | number_at(t.value, 2);
            if (sent != checksum(whole, hole)) return proxy_error::bad_checksum;
            break;
        }
        case 0x05:
            if (t.value.size() > 128) return proxy_error::bad_tlv;
            out.unique_id = t.value;
            break;
        case 0x20:
            if (!read_tls(t.value, out.tls.emplace())) return proxy_error::bad_tlv;
            break;
        case 0x30: out.network_namespace = t.value; break;
        default: break;  // to be ignored (section 2.2.7), as is a filler (0x04)
    }
    return proxy_error::none;
}

proxy_error read_tlvs(std::string_view whole, std::string_view rest, proxy_header& out) {
    std::uint64_t seen = 0;
    tlv t;
    while (!rest.empty()) {
        if (!take_tlv(rest, t)) return proxy_error::bad_tlv;
        // A repeated type is refused: another reader of the header might take the other one. Only
        // fillers may repeat.
        const std::uint64_t bit = t.type < 64 && t.type != 0x04 ? std::uint64_t{1} << t.type : 0;
        if ((seen & bit) != 0) return proxy_error::bad_tlv;
        seen |= bit;
        const proxy_error why = read_tlv(whole, t, out);
        if (why != proxy_error::none) return why;
    }
    return proxy_error::none;
}

proxy_error read_v2(std::string_view whole, proxy_header& out) {
    const unsigned command = byte_at(whole, 12) & 0x0fU;
    const std::uint8_t family = byte_at(whole, 13) >> 4;
    const unsigned transport = byte_at(whole, 13) & 0x0fU;
    out.version = 2;
    // For LOCAL, or an unknown kind of client, the rest is skipped.
    out.is_local = command == 0 || family == 0 || transport == 0;
    if (out.is_local) return proxy_error::none;
    out.is_datagram = transport == 2;
    const std::string_view rest = whole.substr(v2_start);
    const auto addresses = read_addresses(family, rest, out);
    if (!addresses) return proxy_error::bad_address;
    return read_tlvs(whole, rest.substr(*addresses), out);
}

proxy_result parse_v2(std::string_view bytes, proxy_header& out, const proxy_limits& limits) {
    if (bytes.size() > 12 && byte_at(bytes, 12) >> 4 != 2) return failed(proxy_error::bad_version);
    if (bytes.size() > 12 && (byte_at(bytes, 12) & 0x0fU) > 1) {
        return failed(proxy_error::bad_command);
    }
    if (bytes.size() > 13 && (byte_at(bytes, 13) >> 4 > 3 || (byte_at(bytes, 13) & 0x0fU) > 2)) {
        return failed(proxy_error::bad_family);
    }
    if (bytes.size() < v2_start) return {};
    const std::size_t size = v2_start + number_at(bytes, 14);
    if (size > limits.header) return failed(proxy_error::header_too_long);
    if (bytes.size() < size) return {};
    const proxy_error why = read_v2(bytes.substr(0, size), out);
    if (why != proxy_error::none) return failed(why);
    return {proxy_status::header, size, proxy_error::none};
}

}  // namespace

std::string_view describe(proxy_error why) noexcept {
    switch (why) {
        case proxy_error::none: return "the PROXY header is well-formed";
        case proxy_error::no_signature: return "the connection does not begin with a PROXY header";
        case proxy_error::line_too_long: return "the PROXY line is longer than 107 bytes";
        case proxy_error::header_too_long: return "the PROXY header is longer than the limit";
        case proxy_error::bad_line: return "the PROXY line is malformed";
        case proxy_error::bad_version: return "the PROXY header has an unknown version";
        case proxy_error::bad_command: return "the PROXY header has an unknown command";
        case proxy_error::bad_family: return "the PROXY header has an unknown address family";
        case proxy_error::bad_address: return "the PROXY header has a malformed address";
        case proxy_error::bad_tlv: return "the PROXY header has a malformed extension";
        case proxy_error::bad_checksum: return "the PROXY header has a wrong checksum";
    }
    return "unknown";
}

proxy_result parse_proxy_header(std::string_view bytes, proxy_header& out,
                                const proxy_limits& limits) {
    proxy_header header;
    proxy_result result;
    if (may_begin(bytes, v1_signature)) {
        if (bytes.size() < v1_signature.size()) return {};
        result = parse_v1(bytes, header);
    } else if (may_begin(bytes, v2_signature)) {
        if (bytes.size() < v2_signature.size()) return {};
        result = parse_v2(bytes, header, limits);
    } else {
        return failed(proxy_error::no_signature);
    }
    if (result.status == proxy_status::header) out = std::move(header);
    return result;
}

}  // namespace coracle::net
