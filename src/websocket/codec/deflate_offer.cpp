#include "websocket/codec/deflate_offer.hpp"

#include "base/whole_number.hpp"

#include <algorithm>

namespace coracle::websocket::detail {
namespace {

constexpr std::string_view extension = "permessage-deflate";
constexpr std::string_view server_no_context = "server_no_context_takeover";
constexpr std::string_view client_no_context = "client_no_context_takeover";
constexpr std::string_view server_window = "server_max_window_bits";
constexpr std::string_view client_window = "client_max_window_bits";
/// zlib does not support raw deflate with a smaller window.
constexpr int least_own_window = 9;
constexpr int most_window = 15;

bool is_token_char(char c) noexcept {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           others.find(c) != std::string_view::npos;
}

/// Walks through a list of extensions (RFC 6455 section 9.1).
class list_reader {
public:
    explicit list_reader(std::string_view text) noexcept : rest_(text) { skip_space(); }

    bool done() const noexcept { return rest_.empty(); }
    /// Takes `c`, with the space around it.
    bool take(char c) noexcept {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        skip_space();
        return true;
    }
    /// Returns the token that comes; empty where there is none.
    std::string_view token() noexcept {
        std::size_t size = 0;
        while (size != rest_.size() && is_token_char(rest_[size])) ++size;
        const std::string_view found = rest_.substr(0, size);
        rest_.remove_prefix(size);
        skip_space();
        return found;
    }
    /// Returns a token, or what stands in quotes, which has to be a token too.
    std::string_view value() noexcept {
        const bool quoted = !rest_.empty() && rest_.front() == '"';
        if (quoted) rest_.remove_prefix(1);
        const std::string_view found = token();
        if (quoted && !take('"')) return {};
        return found;
    }

private:
    void skip_space() noexcept {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
            rest_.remove_prefix(1);
        }
    }
    std::string_view rest_;
};

/// One offer, or the choice. Window bits are 0 where the parameter is missing, -1 where it has no
/// value.
struct parameters {
    bool server_no_context = false;
    bool client_no_context = false;
    int server_window_bits = 0;
    int client_window_bits = 0;
    bool acceptable = true;  ///< every parameter is known, unique and within its range
};

int window_of(std::string_view text) noexcept {
    const auto bits = coracle::detail::whole_number<int>(text);
    return bits && text.front() != '0' && *bits >= 8 && *bits <= most_window ? *bits : 0;
}

void set_flag(bool& flag, bool has_value, parameters& p) noexcept {
    if (flag || has_value) p.acceptable = false;
    flag = true;
}

void set_window(int& bits, bool has_value, std::string_view value, parameters& p) noexcept {
    if (bits != 0) p.acceptable = false;
    bits = has_value ? window_of(value) : -1;
    if (bits == 0) p.acceptable = false;
}

void note(parameters& p, std::string_view name, bool has_value, std::string_view value) noexcept {
    if (name == server_no_context) {
        set_flag(p.server_no_context, has_value, p);
    } else if (name == client_no_context) {
        set_flag(p.client_no_context, has_value, p);
    } else if (name == server_window) {
        set_window(p.server_window_bits, has_value, value, p);
    } else if (name == client_window) {
        set_window(p.client_window_bits, has_value, value, p);
    } else {
        p.acceptable = false;
    }
}

/// Reads one extension with its parameters. Returns false if it is malformed.
bool read_extension(list_reader& in, std::string_view& name, parameters& p) noexcept {
    name = in.token();
    if (name.empty()) return false;
    while (in.take(';')) {
        const std::string_view parameter = in.token();
        if (parameter.empty()) return false;
        const bool has_value = in.take('=');
        std::string_view value;
        if (has_value) value = in.value();
        if (has_value && value.empty()) return false;
        note(p, parameter, has_value, value);
    }
    return true;
}

void append_window(std::string& text, std::string_view name, int bits) {
    text.append("; ").append(name).append("=").append(std::to_string(bits));
}

int own_window(const compression_options& o) noexcept {
    return std::clamp(o.window_bits, least_own_window, most_window);
}

/// RFC 7692 section 7.1: nothing where an offer cannot be taken.
std::optional<deflate_agreement> take_offer(const parameters& p, const compression_options& o) {
    if (!p.acceptable || p.server_window_bits < 0) return std::nullopt;
    deflate_agreement a;
    const bool each_alone = o.mode == compression_mode::per_message;
    a.server_no_context = p.server_no_context || each_alone;
    a.client_no_context = p.client_no_context || each_alone;
    a.server_window_bits = own_window(o);
    if (p.server_window_bits > 0 && p.server_window_bits < a.server_window_bits) {
        a.server_window_bits = p.server_window_bits;
    }
    if (a.server_window_bits < least_own_window) return std::nullopt;
    if (p.client_window_bits > 0) a.client_window_bits = p.client_window_bits;
    return a;
}

std::string describe(const deflate_agreement& a, const parameters& offer) {
    std::string text(extension);
    if (a.server_no_context) text.append("; ").append(server_no_context);
    if (a.client_no_context) text.append("; ").append(client_no_context);
    if (a.server_window_bits != most_window || offer.server_window_bits > 0) {
        append_window(text, server_window, a.server_window_bits);
    }
    if (offer.client_window_bits > 0) append_window(text, client_window, a.client_window_bits);
    return text;
}

}  // namespace

deflate_choice choose_deflate(std::string_view offers, const compression_options& o) {
    deflate_choice choice;
    list_reader in(offers);
    while (!in.done()) {
        if (in.take(',')) continue;  // RFC 9110 section 5.6.1: elements may be empty
        std::string_view name;
        parameters p;
        if (!read_extension(in, name, p) || (!in.done() && !in.take(','))) {
            choice.malformed = true;
            return choice;
        }
        if (o.mode == compression_mode::off || choice.agreement || name != extension) continue;
        choice.agreement = take_offer(p, o);
        if (choice.agreement) choice.response = describe(*choice.agreement, p);
    }
    return choice;
}

std::string offer_deflate(const compression_options& o) {
    if (o.mode == compression_mode::off) return {};
    std::string text(extension);
    if (o.mode == compression_mode::per_message) {
        text.append("; ").append(server_no_context).append("; ").append(client_no_context);
    }
    text.append("; ").append(client_window);
    const int bits = own_window(o);
    if (bits != most_window) text.append("=").append(std::to_string(bits));
    return text;
}

bool read_deflate_choice(std::string_view response, const compression_options& offered,
                         std::optional<deflate_agreement>& chosen) {
    chosen.reset();
    list_reader in(response);
    if (in.done()) return true;
    std::string_view name;
    parameters p;
    if (!read_extension(in, name, p) || !in.done()) return false;
    // RFC 6455 section 9.1: only what was offered, and once.
    if (offered.mode == compression_mode::off || name != extension || !p.acceptable) return false;
    if (p.server_window_bits < 0 || p.client_window_bits < 0) return false;
    deflate_agreement a;
    const bool each_alone = offered.mode == compression_mode::per_message;
    // RFC 7692 section 7.1.1.1: what was asked for has to be granted.
    if (each_alone && !p.server_no_context) return false;
    a.server_no_context = p.server_no_context;
    a.client_no_context = p.client_no_context || each_alone;
    if (p.server_window_bits > 0) a.server_window_bits = p.server_window_bits;
    a.client_window_bits = own_window(offered);
    if (p.client_window_bits > 0 && p.client_window_bits < a.client_window_bits) {
        a.client_window_bits = p.client_window_bits;
    }
    // zlib cannot use a smaller window: the connection continues without compressing what we send.
    chosen = a;
    return true;
}

}  // namespace coracle::websocket::detail
