#include "http/client/auth/challenge.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <algorithm>
#include <utility>

namespace coracle::http::detail {
namespace {

using coracle::detail::is_blank;
using coracle::detail::lower;

/// Reads a line from left to right.
class reader {
public:
    explicit reader(std::string_view line) noexcept : rest_(line) {}

    bool at_end() const noexcept { return rest_.empty(); }
    bool at(char c) const noexcept { return rest_.starts_with(c); }

    bool take(char c) noexcept {
        if (!at(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool skip_blanks() noexcept {
        const std::size_t before = rest_.size();
        while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
        return rest_.size() != before;
    }

    /// Skips empty members of the list (RFC 9110 section 5.6.1.2).
    void skip_separators() noexcept {
        do skip_blanks();
        while (take(','));
    }

    std::string_view token() noexcept {
        std::size_t size = 0;
        while (size != rest_.size() && is_token(rest_.substr(size, 1))) ++size;
        return drop(size);
    }

    /// Reads a token68 (RFC 9110 section 11.2) that ends its member of the list; otherwise reads
    /// nothing.
    std::string_view token68() noexcept {
        constexpr std::string_view letters =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/";
        const std::size_t body = std::min(rest_.find_first_not_of(letters), rest_.size());
        const std::size_t end = std::min(rest_.find_first_not_of('=', body), rest_.size());
        const std::size_t next = std::min(rest_.find_first_not_of(" \t", end), rest_.size());
        const bool ends = next == rest_.size() || rest_[next] == ',';
        return body == 0 || !ends ? std::string_view() : drop(end);
    }

    /// Reads a token or a quoted string (section 5.6.4). Returns false if there is neither.
    bool value(std::string& out) {
        if (!take('"')) {
            out = token();
            return !out.empty();
        }
        while (!rest_.empty() && !at('"')) {
            if (at('\\')) rest_.remove_prefix(1);
            if (rest_.empty()) break;
            out += rest_.front();
            rest_.remove_prefix(1);
        }
        return take('"');
    }

    /// Reads `name = value`. Returns false, and reads nothing, if no parameter begins here.
    bool parameter_begins(std::string_view& name) noexcept {
        const std::string_view before = rest_;
        name = token();
        skip_blanks();
        if (!name.empty() && take('=')) {
            skip_blanks();
            return true;
        }
        rest_ = before;
        return false;
    }

private:
    std::string_view drop(std::size_t size) noexcept {
        const std::string_view text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return text;
    }

    std::string_view rest_;
};

/// Reads the parameters up to the next challenge. Returns false if the line is malformed.
bool read_parameters(reader& in, challenge& out, const challenge_limits& limits) {
    for (;;) {
        in.skip_separators();
        std::string_view name;
        if (in.at_end() || !in.parameter_begins(name)) return true;
        challenge::parameter p{lower(name), {}};
        if (!in.value(p.value)) return false;
        in.skip_blanks();
        if (!in.at_end() && !in.at(',')) return false;
        if (out.parameters.size() == limits.parameters) return false;
        out.parameters.push_back(std::move(p));
    }
}

bool read_challenge(reader& in, challenge& out, const challenge_limits& limits) {
    const std::string_view scheme = in.token();
    out.scheme = lower(scheme);
    const bool blank = in.skip_blanks();
    if (scheme.empty()) return false;
    if (in.at_end() || in.at(',')) {
        in.skip_separators();
        std::string_view name;
        // The line must begin with a scheme, not with a parameter.
        return !in.parameter_begins(name);
    }
    if (!blank) return false;
    out.token68 = in.token68();
    return !out.token68.empty() || read_parameters(in, out, limits);
}

}  // namespace

const std::string* challenge::find(std::string_view name) const noexcept {
    for (const parameter& p : parameters) {
        if (p.name == name) return &p.value;
    }
    return nullptr;
}

void read_challenges(std::string_view line, std::vector<challenge>& out,
                     const challenge_limits& limits) {
    if (line.size() > limits.bytes) return;
    reader in(line);
    for (in.skip_separators(); !in.at_end(); in.skip_separators()) {
        challenge next;
        if (out.size() == limits.challenges || !read_challenge(in, next, limits)) return;
        out.push_back(std::move(next));
    }
}

std::vector<challenge> challenges_in(const fields& received, std::string_view name,
                                     const challenge_limits& limits) {
    std::vector<challenge> all;
    challenge_limits left = limits;
    for (const field& f : received) {
        if (!equal_ignoring_case(f.name, name)) continue;
        if (f.value.size() > left.bytes) break;
        read_challenges(f.value, all, left);
        left.bytes -= f.value.size();
    }
    return all;
}

std::string info_parameter(std::string_view line, std::string_view name) {
    challenge all;
    reader in(line);
    const challenge_limits limits;
    if (line.size() > limits.bytes || !read_parameters(in, all, limits)) return {};
    const std::string* const value = all.find(name);
    return value == nullptr ? std::string() : *value;
}

}  // namespace coracle::http::detail
