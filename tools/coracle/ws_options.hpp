#pragma once

#include "http_arguments.hpp"
#include "ws_command.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace coracle::tool {

/// The options of `coracle ws`: what they are read into before they are understood.
class ws_options {
public:
    /// Adds the command.
    explicit ws_options(CLI::App& app);
    ~ws_options();
    ws_options(const ws_options&) = delete;
    ws_options& operator=(const ws_options&) = delete;

    bool chosen() const { return command_->parsed(); }
    /// Returns the settings of the command line, on top of the environment and the file of
    /// --config. Throws `failure`.
    ws_settings settings() const;

private:
    struct texts;

    void add_request();
    void add_messages();
    void add_end();

    std::unique_ptr<texts> texts_;
    CLI::App* command_;
    http_arguments client_;
};

}  // namespace coracle::tool
