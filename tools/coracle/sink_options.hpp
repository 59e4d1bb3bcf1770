#pragma once

#include "smtp_sink_command.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace coracle::tool {

/// The options of `coracle smtp sink`.
class sink_options {
public:
    /// Adds the command to `smtp`.
    explicit sink_options(CLI::App& smtp);
    ~sink_options();
    sink_options(const sink_options&) = delete;
    sink_options& operator=(const sink_options&) = delete;

    bool chosen() const;
    /// Reads certificates. Throws `failure`.
    sink_settings settings() const;

private:
    struct texts;

    static void check_tls_options(const texts& t);

    void add_page();
    void add_mail();
    void add_limits();

    std::unique_ptr<texts> texts_;
    CLI::App* command_;
};

}  // namespace coracle::tool
