#pragma once

#include "serve_command.hpp"

#include <memory>

namespace CLI {
class App;
}

namespace coracle::tool {

/// The options of `coracle serve`, on the command line and in the file of --config.
class serve_options {
public:
    struct texts;

    /// Adds them to `app`. The arguments must live: a reload reads them once more.
    serve_options(CLI::App& app, int argc, char** argv);
    ~serve_options();
    serve_options(const serve_options&) = delete;
    serve_options& operator=(const serve_options&) = delete;

    /// The settings, once `app` has parsed. Reads the file of --config. Throws `failure`.
    serve_settings settings() const;

private:
    CLI::App* app_;
    std::unique_ptr<texts> texts_;
    int argc_;
    char** argv_;
};

}  // namespace coracle::tool
