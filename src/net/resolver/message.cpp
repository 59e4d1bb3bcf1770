#include "net/resolver/message.hpp"

#include "net/resolver/name.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace coracle::net::detail {
namespace {

enum record_type : std::uint16_t {
    type_a = 1,
    type_cname = 5,
    type_soa = 6,
    type_mx = 15,
    type_aaaa = 28,
};
constexpr std::uint16_t class_internet = 1;
constexpr std::size_t header_size = 12;
constexpr int most_aliases = 16;
/// The most pointers in one name. Without a bound, the pointers of a 64 KiB message are worth 30
/// million steps.
constexpr int most_pointers = 32;

/// A record, as offsets into the message.
struct record {
    std::string name;
    std::uint16_t type = 0;
    std::uint32_t ttl = 0;
    std::size_t data = 0;
    std::size_t size = 0;
};

/// Reads a message from front to back; once something is missing, nothing more is read.
class cursor {
public:
    explicit cursor(std::string_view message) noexcept : message_(message) {}

    bool failed() const noexcept { return failed_; }
    std::size_t offset() const noexcept { return at_; }
    void move_to(std::size_t at) noexcept { at_ = at; }

    std::uint32_t number(std::size_t bytes) noexcept {
        if (!take(bytes)) return 0;
        std::uint32_t n = 0;
        for (std::size_t i = at_ - bytes; i != at_; ++i) {
            n = n << 8 | static_cast<unsigned char>(message_[i]);
        }
        return n;
    }
    std::uint16_t number16() noexcept { return static_cast<std::uint16_t>(number(2)); }
    bool take(std::size_t bytes) noexcept {
        if (failed_ || message_.size() - at_ < bytes) return fail();
        at_ += bytes;
        return true;
    }

    /// Reads a name, in lower case (RFC 1035 section 4.1.4). Bytes that are invalid in host names
    /// become '?'.
    std::string name() {
        std::string text;
        std::size_t end = 0;
        std::size_t limit = at_;
        int pointers = 0;
        for (;;) {
            const std::size_t size = number(1);
            if (failed_) return {};
            if (size == 0) break;
            if (size >= 0xc0) {
                const std::size_t target = (size & 0x3f) << 8 | number(1);
                // Pointers must lead backwards, or they could form a loop.
                if (failed_ || target >= limit || ++pointers > most_pointers) return fail_name();
                if (end == 0) end = at_;
                at_ = limit = target;
                continue;
            }
            if (size > 63 || text.size() + size > longest_name || !take(size)) return fail_name();
            if (!text.empty()) text += '.';
            for (std::size_t i = at_ - size; i != at_; ++i) text += plain(message_[i]);
        }
        if (end != 0) at_ = end;
        return text;
    }

    void skip_name() noexcept {
        for (;;) {
            const std::size_t size = number(1);
            if (failed_ || size == 0) return;
            if (size >= 0xc0) {
                take(1);
                return;
            }
            if (!take(size)) return;
        }
    }

private:
    static char plain(char c) noexcept {
        if (c >= 'A' && c <= 'Z') return static_cast<char>(c + ('a' - 'A'));
        return c > ' ' && c < '\x7f' && c != '.' ? c : '?';
    }
    bool fail() noexcept {
        failed_ = true;
        return false;
    }
    std::string fail_name() noexcept {
        failed_ = true;
        return {};
    }

    std::string_view message_;
    std::size_t at_ = 0;
    bool failed_ = false;
};

std::vector<record> read_records(cursor& in, std::size_t count) {
    std::vector<record> all;
    for (std::size_t i = 0; i != count; ++i) {
        record r;
        r.name = in.name();
        r.type = in.number16();
        const std::uint16_t of_class = in.number16();
        r.ttl = in.number(4);
        // RFC 2181 section 8: the top bit makes it zero.
        if (r.ttl > 0x7fffffff) r.ttl = 0;
        r.size = in.number16();
        r.data = in.offset();
        if (!in.take(r.size)) break;
        if (of_class == class_internet) all.push_back(std::move(r));
    }
    return all;
}

std::optional<address> address_of(std::string_view message, const record& r) {
    std::array<std::uint8_t, 16> bytes{};
    const std::size_t size = r.type == type_a ? 4 : 16;
    if (r.size != size) return std::nullopt;
    std::memcpy(bytes.data(), message.data() + r.data, size);
    if (size == 16) return address::v6(bytes, 0);
    return address::v4({bytes[0], bytes[1], bytes[2], bytes[3]}, 0);
}

constexpr std::uint16_t type_of(record_kind kind) noexcept {
    switch (kind) {
        case record_kind::v4: return type_a;
        case record_kind::v6: return type_aaaa;
        case record_kind::mail: break;
    }
    return type_mx;
}

/// RFC 1035 section 3.3.9. The root stays as an empty name (RFC 7505); nothing for what is no name
/// of a host.
std::optional<mail_host> mail_host_of(std::string_view message, const record& r) {
    cursor in(message);
    in.move_to(r.data);
    mail_host host;
    host.preference = in.number16();
    const std::string name = in.name();
    if (in.failed() || in.offset() != r.data + r.size) return std::nullopt;
    if (name.empty()) return host;
    bool absolute = false;
    auto canonical = canonical_name(name, absolute);
    if (!canonical) return std::nullopt;
    host.name = *std::move(canonical);
    return host;
}

/// RFC 2308 section 5: the smaller of the record's TTL and its last field.
std::uint32_t negative_ttl(std::string_view message, const std::vector<record>& authority) {
    for (const record& r : authority) {
        if (r.type != type_soa) continue;
        cursor in(message);
        in.move_to(r.data);
        in.skip_name();
        in.skip_name();
        in.take(16);
        const std::uint32_t least = in.number(4);
        if (in.failed() || in.offset() != r.data + r.size) continue;
        return std::min(r.ttl, least);
    }
    return 0;
}

bool has_records(const dns_response& r) noexcept {
    return !r.found.addresses.empty() || !r.found.mail.empty();
}

dns_response failed(resolve_errc why) {
    dns_response response;
    response.failure = why;
    return response;
}

/// Takes a record that can be read, unless there are `most` already.
void take_record(std::string_view message, const record& r, std::size_t most, records& into) {
    if (into.addresses.size() == most || into.mail.size() == most) return;
    if (r.type == type_mx) {
        if (auto host = mail_host_of(message, r)) into.mail.push_back(*std::move(host));
    } else if (auto a = address_of(message, r)) {
        into.addresses.push_back(*a);
    }
}

/// Collects the records of this type that `all` has for `name`, through aliases. False when the
/// aliases lead in a circle, or when hosts for mail are named and none of the names can be one:
/// that such a domain had none would send its mail elsewhere.
bool collect(std::string_view message, const std::vector<record>& all, std::string_view name,
             std::uint16_t type, std::size_t most, dns_response& into) {
    std::uint32_t ttl = 0x7fffffff;
    std::string alias(name);
    for (int hops = 0; hops != most_aliases; ++hops) {
        const record* next = nullptr;
        bool any = false;
        for (const record& r : all) {
            if (r.name != alias) continue;
            if (r.type == type_cname && next == nullptr) next = &r;
            if (r.type != type) continue;
            any = true;
            take_record(message, r, most, into.found);
            ttl = std::min(ttl, r.ttl);
        }
        if (has_records(into)) {
            into.ttl = ttl;
            return true;
        }
        if (any && type == type_mx) return false;
        if (next == nullptr) return true;
        ttl = std::min(ttl, next->ttl);
        cursor in(message);
        in.move_to(next->data);
        alias = in.name();
        if (in.failed()) return false;
    }
    return false;
}

}  // namespace

dns_response read_response(std::string_view message, std::string_view name, record_kind wanted,
                           std::size_t most) {
    if (message.size() < header_size) return failed(resolve_errc::malformed_response);
    cursor in(message);
    in.take(2);
    const std::uint16_t flags = in.number16();
    const std::size_t questions = in.number16();
    const std::size_t count = in.number16();
    const std::size_t authorities = in.number16();
    in.take(2);
    const bool is_response = (flags & 0x8000) != 0;
    if (!is_response || questions != 1) return failed(resolve_errc::malformed_response);
    const unsigned code = flags & 0x0f;
    if (code == 5) return failed(resolve_errc::refused);
    if (code != 0 && code != 3) return failed(resolve_errc::server_failure);
    const std::uint16_t type = type_of(wanted);
    if (in.name() != name || in.number16() != type || in.number16() != class_internet) {
        return failed(resolve_errc::malformed_response);
    }
    const auto all = read_records(in, count);
    if (in.failed()) return failed(resolve_errc::malformed_response);
    dns_response response;
    if (!collect(message, all, name, type, most, response)) {
        return failed(resolve_errc::malformed_response);
    }
    if (has_records(response)) return response;
    response.failure = code == 3 ? resolve_errc::no_such_host : resolve_errc::no_addresses;
    response.ttl = negative_ttl(message, read_records(in, authorities));
    return response;
}

}  // namespace coracle::net::detail
