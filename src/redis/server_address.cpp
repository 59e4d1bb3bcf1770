#include "redis/server_address.hpp"

#include "base/whole_number.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/base/url.hpp>

#include <optional>
#include <utility>

namespace coracle::redis::detail {
namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::string_view unix_scheme = "unix://";

using coracle::detail::whole_number;

std::unexpected<error> refuse(std::string_view what) {
    return std::unexpected(error(std::errc::invalid_argument, "redis url").on(what));
}

/// unix://[user[:password]@]/path[?db=N]: what names no host is no URL in the sense of `url`.
std::expected<server_address, error> parse_unix(std::string_view rest) {
    server_address s;
    const std::string_view authority = rest.substr(0, rest.find('/'));
    if (authority.contains('@') && authority.front() != '@') {
        const std::string_view whom = rest.substr(0, rest.find('@'));
        rest.remove_prefix(whom.size() + 1);
        const std::size_t colon = whom.find(':');
        auto user = percent_decode(whom.substr(0, colon));
        if (!user) return refuse("its user cannot be decoded");
        s.user = *std::move(user);
        if (colon != std::string_view::npos) {
            auto password = percent_decode(whom.substr(colon + 1));
            if (!password) return refuse("its password cannot be decoded");
            s.password = secret(*std::move(password));
        }
    }
    const std::size_t query = rest.find('?');
    auto path = percent_decode(rest.substr(0, query));
    if (!path || path->size() < 2 || (path->front() != '/' && path->front() != '@')) {
        return refuse("it names no path of a socket");
    }
    s.path = *std::move(path);
    if (query == std::string_view::npos) return s;
    const std::string_view options = rest.substr(query + 1);
    const auto database =
        options.starts_with("db=") ? whole_number<unsigned>(options.substr(3)) : std::nullopt;
    if (!database) return refuse("only ?db=N may follow the path");
    s.database = *database;
    return s;
}

}  // namespace

std::expected<server_address, error> server_address::parse(std::string_view text) {
    if (text.starts_with(unix_scheme)) return parse_unix(text.substr(unix_scheme.size()));
    auto read = url::parse(text);
    if (!read) return std::unexpected(std::move(read).error());
    server_address s;
    if (read->scheme() == "rediss") {
        s.secure = true;
    } else if (read->scheme() != "redis") {
        return refuse("redis, rediss or unix is wanted");
    }
    s.host = read->host();
    s.port = redis_port;
    if (read->port() != 0) s.port = read->port();
    s.user = read->user();
    s.password = secret(read->password());
    const std::string_view path = read->path().substr(1);
    if (read->has_query()) return refuse("it has a query");
    if (path.empty()) return s;
    const auto database = whole_number<unsigned>(path);
    if (!database) return refuse("its path is no number of a database");
    s.database = *database;
    return s;
}

std::string server_address::name() const {
    if (!path.empty()) return path;
    const bool is_v6 = host.contains(':');
    std::string all;
    if (is_v6) all += '[';
    all += host;
    if (is_v6) all += ']';
    return all + ':' + std::to_string(port);
}

}  // namespace coracle::redis::detail
