#pragma once

#include "smtp_send.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace coracle::tool {

/// The options of `coracle smtp send`.
class send_options {
public:
    /// Adds the command to `smtp`.
    explicit send_options(CLI::App& smtp);
    ~send_options();
    send_options(const send_options&) = delete;
    send_options& operator=(const send_options&) = delete;

    bool chosen() const;
    /// Returns the settings of the command line, on top of the environment and the file of
    /// --config. Reads the files of the mail, and the standard input. Throws `failure`.
    send_settings settings() const;

private:
    struct texts;

    void add_addresses();
    void add_content();
    void add_credentials();
    void add_connection();
    void add_limits();
    void add_report();

    std::unique_ptr<texts> texts_;
    CLI::App* command_;
};

}  // namespace coracle::tool
