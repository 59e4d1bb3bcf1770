#pragma once

#include "get_command.hpp"
#include "http_arguments.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace coracle::tool {

/// The options of `coracle get`, as texts before they are interpreted.
class get_options {
public:
    /// Adds the command.
    explicit get_options(CLI::App& app);
    ~get_options();
    get_options(const get_options&) = delete;
    get_options& operator=(const get_options&) = delete;

    bool chosen() const;
    /// Returns the settings of the command line, on top of the environment and the file of
    /// --config. Throws `failure`.
    get_settings settings() const;

private:
    struct texts;

    void add_request();
    void add_data();
    void add_credentials();
    void add_limits();
    void add_output();
    void add_report();
    void understand_limits(get_settings& s) const;

    std::unique_ptr<texts> texts_;
    CLI::App* command_;
    http_arguments client_;
};

}  // namespace coracle::tool
