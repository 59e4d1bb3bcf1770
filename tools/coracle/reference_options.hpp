#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace coracle::tool {

/// The commands `completion SHELL`, and `manual`, which is hidden: the texts of `--help` in the
/// forms that shells and man(1) read.
class reference_options {
public:
    /// Adds the commands to `app`, which has all others by then and must outlive this.
    explicit reference_options(CLI::App& app);

    bool chosen() const { return completion_->parsed() || manual_->parsed(); }
    /// Prints what was asked for, or writes all manual pages; returns the exit code.
    int run() const;

private:
    CLI::App* app_;
    CLI::App* completion_;
    CLI::App* manual_;
    std::string shell_;
    std::string folder_;
};

}  // namespace coracle::tool
