#include "listening.hpp"

#include "settings.hpp"

#include <coracle/net/address.hpp>

#include <algorithm>
#include <filesystem>

namespace coracle::tool {
namespace {

std::string hint_for_path(const std::filesystem::path& path, const std::error_code& code) {
    if (code == std::errc::address_in_use) {
        std::error_code unknown;
        const bool is_abstract = path.native().starts_with('@');
        if (is_abstract || std::filesystem::is_socket(path, unknown)) {
            return " (another program, perhaps another coracle, is using it; choose another path)";
        }
        return " (there is something by that name that is no socket: remove it, or choose another "
               "path)";
    }
    if (code == std::errc::permission_denied) return " (check who may write to its directory)";
    if (code == std::errc::no_such_file_or_directory) return " (its directory must exist)";
    return {};
}

std::string hint_for(std::string_view at, const std::error_code& code) {
    constexpr std::string_view unix_scheme = "unix:";
    if (at.starts_with(unix_scheme)) return hint_for_path(at.substr(unix_scheme.size()), code);
    if (code == std::errc::address_in_use) {
        return " (another program, perhaps another coracle, is using it; choose another with "
               "--listen)";
    }
    if (code == std::errc::permission_denied) {
        return " (ports below 1024 need root or CAP_NET_BIND_SERVICE; choose another with "
               "--listen)";
    }
    if (code == std::errc::address_not_available) {
        return " (no interface of this machine has this address)";
    }
    return {};
}

}  // namespace

std::string_view without_scheme(std::string_view text) {
    const std::size_t at = text.find("://");
    const bool has_one = text.starts_with("https://") || text.starts_with("http://");
    return has_one ? text.substr(at + 3) : text;
}

std::string joined_addresses(const std::vector<std::string>& addresses) {
    std::string all;
    std::vector<net::address> before;
    for (const std::string& text : addresses) {
        const std::string_view bare = without_scheme(text);
        // A socket that systemd has opened.
        if (bare == "inherited" || bare.starts_with("inherited:")) {
            if (!all.empty()) all += ',';
            all += text;
            continue;
        }
        const auto a = net::address::parse(bare);
        if (!a && a.error() == std::errc::filename_too_long) {
            throw wrong_usage("cannot listen on " + std::string(a.error().subject()));
        }
        if (!a) {
            throw wrong_usage("cannot listen on '" + text +
                              "': that is no address (127.0.0.1:8080, [::1]:8080, :8080 for every "
                              "IPv4 address, unix:/path)");
        }
        // Both would share the port, each with half of the connections.
        const bool takes_free_port = a->family() != net::family::unix_path && a->port() == 0;
        if (!takes_free_port && std::ranges::find(before, *a) != before.end()) {
            throw wrong_usage("cannot listen on '" + text + "' twice");
        }
        before.push_back(*a);
        all += all.empty() ? text : ',' + text;
    }
    return all;
}

void cannot_listen(const error& e) {
    throw failure("cannot listen on " + std::string(e.subject()) + ": " + e.code().message() +
                  hint_for(e.subject(), e.code()));
}

}  // namespace coracle::tool
