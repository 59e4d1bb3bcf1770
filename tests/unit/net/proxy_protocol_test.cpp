#include "net/proxy_protocol.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::net;

namespace {

const std::string signature("\r\n\r\n\0\r\nQUIT\n", 12);

std::string number(std::size_t n) {
    return {static_cast<char>(n >> 8), static_cast<char>(n & 0xff)};
}

std::string tlv(unsigned type, const std::string& value) {
    return static_cast<char>(type) + number(value.size()) + value;
}

std::string v2(unsigned command, unsigned family, const std::string& rest) {
    return signature + static_cast<char>(command) + static_cast<char>(family) +
           number(rest.size()) + rest;
}

const std::string v4_addresses("\xc0\x00\x02\x01\xc6\x33\x64\x02\xdc\x04\x01\xbb", 12);

proxy_result parse(std::string_view bytes, const proxy_limits& limits = {}) {
    proxy_header ignored;
    return parse_proxy_header(bytes, ignored, limits);
}

proxy_header read(const std::string& bytes) {
    proxy_header out;
    const proxy_result r = parse_proxy_header(bytes + "GET /", out);
    EXPECT_EQ(r.status, proxy_status::header) << describe(r.error);
    EXPECT_EQ(r.consumed, bytes.size());
    return out;
}

proxy_error why(const std::string& bytes) {
    const proxy_result r = parse(bytes);
    EXPECT_EQ(r.status, proxy_status::error) << bytes;
    EXPECT_EQ(r.consumed, 0u);
    return r.error;
}

TEST(proxy_protocol, a_line_of_version_1_gives_both_addresses) {
    const auto h = read("PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n");
    EXPECT_EQ(h.version, 1);
    EXPECT_FALSE(h.is_local);
    EXPECT_EQ(h.source.to_string(), "192.0.2.1:56324");
    EXPECT_EQ(h.destination.to_string(), "198.51.100.2:443");
    const auto six = read("PROXY TCP6 2001:db8::1 ::1 0 65535\r\n");
    EXPECT_EQ(six.source.to_string(), "[2001:db8::1]:0");
    EXPECT_EQ(six.destination.to_string(), "[::1]:65535");
}

TEST(proxy_protocol, an_unknown_client_of_version_1_leaves_the_addresses_alone) {
    EXPECT_TRUE(read("PROXY UNKNOWN\r\n").is_local);
    EXPECT_TRUE(read("PROXY UNKNOWN whatever there is \x01\r\n").is_local);
}

TEST(proxy_protocol, the_longest_line_is_107_bytes) {
    const auto line = [](std::size_t size) {
        std::string s = "PROXY UNKNOWN ";
        s.append(size - s.size() - 2, 'x');
        return s + "\r\n";
    };
    EXPECT_EQ(parse(line(106)).consumed, 106u);
    EXPECT_EQ(parse(line(107)).consumed, 107u);
    EXPECT_EQ(parse(line(108)).error, proxy_error::line_too_long);
    EXPECT_EQ(parse(line(108).substr(0, 107)).error, proxy_error::line_too_long);
    EXPECT_EQ(parse(line(108).substr(0, 106)).status, proxy_status::need_more);
}

TEST(proxy_protocol, a_malformed_line_is_refused) {
    for (const char* line : {
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 01\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 -1\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4  1 1\r\n",
             "PROXY TCP4 1.2.3.4 ::1 1 2\r\n",
             "PROXY TCP4 1.2.3.256 1.2.3.4 1 2\r\n",
             "PROXY TCP4 01.2.3.4 1.2.3.4 1 2\r\n",
             "PROXY TCP6 1.2.3.4 ::1 1 2\r\n",
             "PROXY TCP6 fe80::1%1 ::1 1 2\r\n",
             "PROXY TCP5 1.2.3.4 1.2.3.4 1 2\r\n",
             "PROXY  TCP4 1.2.3.4 1.2.3.4 1 2\r\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\n",
             "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r1",
             "PROXY \r\n",
         }) {
        EXPECT_EQ(why(line), proxy_error::bad_line) << line;
    }
}

TEST(proxy_protocol, other_bytes_are_refused_at_the_first_that_differs) {
    EXPECT_EQ(parse("").status, proxy_status::need_more);
    EXPECT_EQ(why("G"), proxy_error::no_signature);
    EXPECT_EQ(why("PRI * HTTP/2.0"), proxy_error::no_signature);
    EXPECT_EQ(why("proxy TCP4"), proxy_error::no_signature);
    EXPECT_EQ(why("\r\n\r\nG"), proxy_error::no_signature);
    EXPECT_EQ(why(signature + "\x11"), proxy_error::bad_version);
    EXPECT_EQ(why(signature + "\x31"), proxy_error::bad_version);
    EXPECT_EQ(why(signature + "\x22"), proxy_error::bad_command);
    EXPECT_EQ(why(signature + "\x21\x41"), proxy_error::bad_family);
    EXPECT_EQ(why(signature + "\x21\x13"), proxy_error::bad_family);
}

TEST(proxy_protocol, version_2_gives_both_addresses) {
    const auto h = read(v2(0x21, 0x11, v4_addresses));
    EXPECT_EQ(h.version, 2);
    EXPECT_FALSE(h.is_local);
    EXPECT_FALSE(h.is_datagram);
    EXPECT_EQ(h.source.to_string(), "192.0.2.1:56324");
    EXPECT_EQ(h.destination.to_string(), "198.51.100.2:443");
    EXPECT_TRUE(read(v2(0x21, 0x12, v4_addresses)).is_datagram);

    std::string six(36, '\0');
    six[15] = 1;
    six[31] = 2;
    six[33] = 7;
    const auto s = read(v2(0x21, 0x21, six));
    EXPECT_EQ(s.source.to_string(), "[::1]:7");
    EXPECT_EQ(s.destination.to_string(), "[::2]:0");
}

TEST(proxy_protocol, version_2_gives_paths_of_unix_sockets) {
    std::string paths(216, '\0');
    paths.replace(0, 6, "/tmp/a");
    paths.replace(109, 4, "name");
    const auto h = read(v2(0x21, 0x31, paths));
    EXPECT_EQ(h.source.to_string(), "unix:/tmp/a");
    EXPECT_EQ(h.destination.to_string(), "unix:@name");
    const auto full = read(v2(0x21, 0x31, std::string(216, 'x')));
    EXPECT_EQ(full.source.to_string(), "unix:" + std::string(108, 'x'));
    EXPECT_EQ(read(v2(0x21, 0x31, std::string(216, '\0'))).source.host(), "unix:");
}

TEST(proxy_protocol, a_local_command_counts_whatever_follows) {
    EXPECT_TRUE(read(v2(0x20, 0x00, "")).is_local);
    EXPECT_TRUE(read(v2(0x20, 0x11, "abc")).is_local);
    EXPECT_TRUE(read(v2(0x21, 0x00, tlv(2, "a"))).is_local);
}

TEST(proxy_protocol, addresses_that_are_cut_are_refused) {
    EXPECT_EQ(why(v2(0x21, 0x11, v4_addresses.substr(1))), proxy_error::bad_address);
    EXPECT_EQ(why(v2(0x21, 0x21, std::string(35, 'x'))), proxy_error::bad_address);
    EXPECT_EQ(why(v2(0x21, 0x31, std::string(215, 'x'))), proxy_error::bad_address);
}

TEST(proxy_protocol, extensions_are_read) {
    const std::string tls = std::string("\x03\0\0\0\0", 5) + tlv(0x21, "TLSv1.3") +
                            tlv(0x22, "alice") + tlv(0x23, "AES") + tlv(0x24, "sha") +
                            tlv(0x25, "rsa") + tlv(0x26, "ignored");
    const auto h = read(v2(0x21, 0x11,
                           v4_addresses + tlv(0x01, "h2") + tlv(0x02, "example.com") +
                               tlv(0x04, "") + tlv(0x04, "x") + tlv(0x05, "id") + tlv(0x20, tls) +
                               tlv(0x30, "ns") + tlv(0xe0, "custom") + tlv(0xe0, "custom")));
    EXPECT_EQ(h.alpn, "h2");
    EXPECT_EQ(h.authority, "example.com");
    EXPECT_EQ(h.unique_id, "id");
    EXPECT_EQ(h.network_namespace, "ns");
    ASSERT_TRUE(h.tls.has_value());
    EXPECT_TRUE(h.tls->over_tls);
    EXPECT_TRUE(h.tls->has_certificate);
    EXPECT_TRUE(h.tls->verified);
    EXPECT_EQ(h.tls->version, "TLSv1.3");
    EXPECT_EQ(h.tls->common_name, "alice");
    EXPECT_EQ(h.tls->cipher, "AES");
    EXPECT_EQ(h.tls->signature_algorithm, "sha");
    EXPECT_EQ(h.tls->key_algorithm, "rsa");
}

TEST(proxy_protocol, a_client_without_a_certificate_is_not_verified) {
    const auto with = [](std::string tls) {
        return *read(v2(0x21, 0x11, v4_addresses + tlv(0x20, tls))).tls;
    };
    EXPECT_FALSE(with(std::string("\x01\0\0\0\0", 5)).verified);
    EXPECT_FALSE(with(std::string("\x03\0\0\0\1", 5)).verified);
    EXPECT_TRUE(with(std::string("\x05\0\0\0\0", 5)).verified);
    EXPECT_FALSE(with(std::string("\x00\0\0\0\0", 5)).over_tls);
}

TEST(proxy_protocol, malformed_extensions_are_refused) {
    for (const std::string& bad :
         {std::string("\x01"), std::string("\x01\0", 2), std::string("\x01\0\x01", 3),
          tlv(0x03, "abc"), tlv(0x20, "abcd"), tlv(0x20, std::string("\1\0\0\0\0\x21\0\1", 8)),
          tlv(0x02, "a") + tlv(0x02, "b")}) {
        EXPECT_EQ(why(v2(0x21, 0x11, v4_addresses + bad)), proxy_error::bad_tlv);
    }
    EXPECT_EQ(read(v2(0x21, 0x11, v4_addresses + tlv(5, std::string(128, 'x')))).unique_id.size(),
              128u);
    EXPECT_EQ(why(v2(0x21, 0x11, v4_addresses + tlv(5, std::string(129, 'x')))),
              proxy_error::bad_tlv);
    EXPECT_EQ(read(v2(0x21, 0x11, v4_addresses + tlv(2, std::string(255, 'x')))).authority.size(),
              255u);
    EXPECT_EQ(why(v2(0x21, 0x11, v4_addresses + tlv(2, std::string(256, 'x')))),
              proxy_error::bad_tlv);
}

TEST(proxy_protocol, a_checksum_is_verified) {
    std::string header = v2(0x21, 0x11, v4_addresses + tlv(3, std::string(4, '\0')));
    EXPECT_EQ(why(header), proxy_error::bad_checksum);
    // CRC-32C by another way: a table of nibbles.
    std::uint32_t crc = 0xffffffffU;
    std::uint32_t table[16];
    for (std::uint32_t n = 0; n != 16; ++n) {
        table[n] = n;
        for (int i = 0; i != 4; ++i) table[n] = table[n] >> 1 ^ (table[n] & 1 ? 0x82f63b78U : 0);
    }
    for (const char c : header) {
        crc = crc >> 4 ^ table[(crc ^ static_cast<unsigned char>(c)) & 15U];
        crc = crc >> 4 ^ table[(crc ^ static_cast<unsigned char>(c) >> 4) & 15U];
    }
    crc = ~crc;
    for (std::size_t i = 0; i != 4; ++i) {
        header[header.size() - 4 + i] = static_cast<char>(crc >> (24 - 8 * i) & 255U);
    }
    EXPECT_EQ(read(header).source.port(), 56324);
    header[20] = static_cast<char>(header[20] ^ 1);
    EXPECT_EQ(why(header), proxy_error::bad_checksum);
}

TEST(proxy_protocol, the_limit_of_version_2_counts_the_whole_header) {
    const auto header = [](std::size_t size) {
        return v2(0x21, 0x11, v4_addresses + tlv(0xe0, std::string(size - 16 - 12 - 3, 'x')));
    };
    EXPECT_EQ(parse(header(4095)).consumed, 4095u);
    EXPECT_EQ(parse(header(4096)).consumed, 4096u);
    EXPECT_EQ(parse(header(4097)).error, proxy_error::header_too_long);
    // Refused before it is received.
    EXPECT_EQ(parse(header(4097).substr(0, 16)).error, proxy_error::header_too_long);
    EXPECT_EQ(parse(header(64), {.header = 63}).error, proxy_error::header_too_long);
    EXPECT_EQ(parse(header(64), {.header = 64}).consumed, 64u);
}

TEST(proxy_protocol, a_header_that_is_cut_anywhere_needs_more) {
    const std::string headers[] = {
        "PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n",
        "PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n",
        "PROXY UNKNOWN\r\n",
        v2(0x20, 0, ""),
        v2(0x21, 0x11, v4_addresses + tlv(1, "h2")),
        v2(0x21, 0x31, std::string(216, 'x')),
    };
    for (const std::string& header : headers) {
        for (std::size_t cut = 0; cut != header.size(); ++cut) {
            EXPECT_EQ(parse(std::string_view(header).substr(0, cut)).status,
                      proxy_status::need_more);
        }
        EXPECT_EQ(parse(header).consumed, header.size());
        EXPECT_EQ(parse(header + header).consumed, header.size());
    }
}

}  // namespace
