#include "http/client/netrc.hpp"

#include "fs/file_text.hpp"
#include "http/message/token.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace coracle::http::detail {
namespace {

constexpr std::string_view spaces = " \t\r\n";

char unescaped(char c) noexcept {
    return c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c;
}

class reader {
public:
    explicit reader(std::string_view text) noexcept : rest_(text) {}

    /// Returns the next keyword; empty at the end. Skips comments.
    std::string_view keyword() noexcept {
        for (;;) {
            skip_spaces();
            if (!rest_.starts_with('#')) return word();
            drop(rest_.find('\n'));
        }
    }

    /// Returns a value, which may be quoted; nothing if the quote is not closed.
    std::optional<secret> value() {
        skip_spaces();
        if (!rest_.starts_with('"')) return secret(word());
        std::size_t end = 1;
        while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2U : 1U;
        const std::string_view quoted = rest_.substr(1, end - 1);
        drop(end);
        if (rest_.empty()) return std::nullopt;
        drop(1);
        std::string out;
        // Reserves all of it at once, so that no copy of a part of a password stays in memory.
        out.reserve(quoted.size());
        for (std::size_t i = 0; i != quoted.size(); ++i) {
            out += quoted[i] == '\\' ? unescaped(quoted[++i]) : quoted[i];
        }
        return secret(std::move(out));
    }

    /// Skips a macro, which ends at an empty line.
    void skip_macro() noexcept {
        while (!rest_.empty()) {
            drop(rest_.find('\n'));
            drop(1);
            if (rest_.starts_with('\n') || rest_.starts_with("\r\n")) return;
        }
    }

private:
    void drop(std::size_t size) noexcept { rest_.remove_prefix(std::min(size, rest_.size())); }
    void skip_spaces() noexcept { drop(rest_.find_first_not_of(spaces)); }

    std::string_view word() noexcept {
        const std::string_view text = rest_.substr(0, rest_.find_first_of(spaces));
        drop(text.size());
        return text;
    }

    std::string_view rest_;
};

/// The parts of the matching entry that have been read.
struct entry {
    bool open = false;  ///< the current entry matches the host
    bool has_user = false;
    bool has_password = false;
    secret user;
    secret password;

    bool serves(std::string_view wanted) const noexcept {
        if (!open || !(has_user || has_password)) return false;
        return wanted.empty() || (has_user && user.reveal() == wanted);
    }
};

/// Processes one keyword with its value, inside or outside of an entry. Returns false if the text
/// breaks off.
bool read_value(reader& in, std::string_view keyword, entry& into) {
    const bool user = keyword == "login" || keyword == "user";
    const bool password = keyword == "password" || keyword == "passwd";
    if (!user && !password && keyword != "account") return true;
    auto value = in.value();
    if (!value) return false;
    if (user) {
        into.user = *std::move(value);
        into.has_user = true;
    } else if (password) {
        into.password = *std::move(value);
        into.has_password = true;
    }
    return true;
}

credentials to_credentials(entry&& e, std::string_view wanted) {
    return {auth_scheme::basic, std::string(e.has_user ? e.user.reveal() : wanted),
            std::move(e.password)};
}

}  // namespace

std::optional<credentials> find_netrc(std::string_view text, std::string_view host,
                                      std::string_view user) {
    reader in(text);
    entry current;
    for (;;) {
        const std::string_view keyword = in.keyword();
        const bool machine = keyword == "machine";
        if (keyword.empty() || machine || keyword == "default") {
            if (current.serves(user)) return to_credentials(std::move(current), user);
            if (keyword.empty()) return std::nullopt;
            current = {};
            const auto name = machine ? in.value() : std::nullopt;
            current.open = !machine || (name && equal_ignoring_case(name->reveal(), host));
        } else if (keyword == "macdef") {
            in.skip_macro();
        } else if (!read_value(in, keyword, current)) {
            return std::nullopt;
        }
    }
}

std::expected<netrc_file, error> load_netrc() {
    std::string path;
    if (const char* const named = std::getenv("NETRC"); named != nullptr && *named != '\0') {
        path = named;
    } else if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0') {
        path = std::string(home) + "/.netrc";
    } else {
        return std::unexpected(error(std::errc::no_such_file_or_directory, "netrc").on("$HOME"));
    }
    auto file = fs::read_file(path, netrc_limit);
    if (!file) return std::unexpected(file.error());
    return netrc_file{std::move(file->text), std::move(path), file->others_may_read};
}

}  // namespace coracle::http::detail
