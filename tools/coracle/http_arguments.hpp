#pragma once

#include "client_arguments.hpp"

#include <coracle/http/client_options.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace coracle::tool {

/// The arguments of all commands that make HTTP requests: credentials, proxies, connections, and
/// other options of the client. Must live until its command has been parsed and interpreted.
class http_arguments {
public:
    /// For a command, to which each of the groups is added by its function.
    explicit http_arguments(CLI::App& command) noexcept : command_(&command) {}
    http_arguments(const http_arguments&) = delete;
    http_arguments& operator=(const http_arguments&) = delete;

    void add_credentials(const char* group);
    void add_proxy();
    void add_connection();
    /// All of `add_connection` but the choice of the version of HTTP.
    void add_connection_of_one_version();
    void add_connect_timeout(const char* group);
    void add_user_agent(const char* group);
    void add_verbose(const char* group);

    /// The client options that arguments set, each registered by `of_client`.
    http::client_options& values() noexcept { return values_; }
    /// Records that `option` sets the member of the client's options that `part` returns.
    template <class Part>
    void of_client(const CLI::Option* option, Part part) {
        given_.add(option, part);
    }

    /// Applies the environment, then the file of --config, then --options, then the other
    /// arguments: later ones override earlier ones. Throws `failure`.
    void apply(http::client_options& o, http::pool_options& pool) const;

private:
    void add_addresses();
    void apply_credentials(http::client_options& o) const;

    CLI::App* command_;
    http::client_options values_;
    given_options<http::client_options> given_;
    connection_texts connection_;
    std::string user_;
    std::string bearer_;
    std::string proxy_user_;
    double connect_ = 0;
    bool digest_ = false;
};

}  // namespace coracle::tool
