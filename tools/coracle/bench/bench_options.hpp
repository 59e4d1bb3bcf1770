#pragma once

#include "bench_settings.hpp"
#include "http_arguments.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace coracle::tool::bench {

/// The arguments of `coracle bench`, and what they mean.
class bench_options {
public:
    explicit bench_options(CLI::App& app);
    ~bench_options();
    bench_options(const bench_options&) = delete;
    bench_options& operator=(const bench_options&) = delete;

    bool chosen() const { return command_->parsed(); }
    /// Throws `failure` for what no run can have.
    bench_settings settings() const;

private:
    struct texts;

    void add_load();
    void add_request();
    void add_reports();
    void read_protocol(bench_settings& s) const;
    void read_times(bench_settings& s) const;
    void read_requests(bench_settings& s) const;
    void check(const bench_settings& s) const;

    std::unique_ptr<texts> texts_;
    CLI::App* command_;
    http_arguments client_;
};

}  // namespace coracle::tool::bench
