#pragma once

#include "get_command.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace coracle::tool {

/// The options of `coracle get`: what they are read into before they are understood.
class get_options {
public:
    /// Adds the command.
    explicit get_options(CLI::App& app);
    ~get_options();
    get_options(const get_options&) = delete;
    get_options& operator=(const get_options&) = delete;

    bool chosen() const;
    /// What was given, understood. Throws `failure`.
    get_settings settings() const;

private:
    struct texts;
    std::unique_ptr<texts> texts_;
    CLI::App* command_;
};

}  // namespace coracle::tool
