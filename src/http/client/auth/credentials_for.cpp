#include "http/client/auth/credentials_for.hpp"

#include "http/client/netrc.hpp"

#include <optional>
#include <string>
#include <utility>

namespace coracle::http::detail {
namespace {

/// Returns the netrc entry for this host, and for this user unless it is empty.
std::expected<std::optional<credentials>, error> entry_for(std::string_view host,
                                                           std::string_view user,
                                                           const logger& log) {
    auto file = load_netrc();
    if (!file) {
        if (file.error() == std::errc::no_such_file_or_directory) return std::nullopt;
        return std::unexpected(std::move(file).error());
    }
    if (file->others_may_read) {
        log.write(log_layer::http, log_level::warning, "others may read " + file->path);
    }
    return find_netrc(file->text.reveal(), host, user);
}

}  // namespace

std::expected<credentials, error> credentials_for(const client_options& o, const url& where,
                                                  const logger& log) {
    credentials c = o.authentication;
    if (c.scheme == auth_scheme::bearer) {
        if (!c.password.empty()) return c;
        error e(std::errc::invalid_argument, "option");
        return std::unexpected(std::move(e.on("authentication_secret wants a token for Bearer")));
    }
    const bool named = c.scheme != auth_scheme::none;
    const auth_scheme chosen = named ? c.scheme : auth_scheme::basic;
    if (!named) c = {};
    if (c.user.empty() && c.password.empty() && where.has_user()) {
        c = {chosen, where.user(), secret(where.password())};
    }
    if (!o.netrc || !c.password.empty()) return c;
    auto found = entry_for(where.host(), c.user, log);
    if (!found) return std::unexpected(std::move(found).error());
    if (*found) {
        c = **std::move(found);
        c.scheme = chosen;
    }
    return c;
}

}  // namespace coracle::http::detail
