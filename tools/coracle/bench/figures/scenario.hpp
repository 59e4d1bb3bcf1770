#pragma once

#include <coracle/base/url.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tool::bench {

/// One of the requests that are made.
struct planned_request {
    std::string method = "GET";
    std::string target = "/";  ///< path[?query]
    std::vector<std::pair<std::string, std::string>> fields;
    std::string body;
    std::uint32_t weight = 1;

    /// Returns true if one of the fields has this name, in any case.
    bool has_field(std::string_view name) const noexcept;
};

/// The requests of a run, all to one origin.
struct scenario {
    static constexpr std::size_t most_requests = 100'000;
    static constexpr std::uint32_t most_weight = 1'000'000;

    url origin;
    std::vector<planned_request> requests;
    /// Each connection makes them one after the other, again and again; else each request is drawn
    /// by weight.
    bool in_order = false;
    /// Requests of a HAR that were left out: they go elsewhere.
    std::size_t left_out = 0;

    /// Returns the request for a random number, by weight.
    std::size_t draw(std::uint64_t random) const noexcept;
    /// Call after `requests` has changed.
    void add_up_weights();

private:
    std::vector<std::uint64_t> sums_;
};

/// Reads lines of JSON, each an object with "url" and perhaps "method", "headers" (an object),
/// "body" and "weight"; or a HAR (HTTP Archive 1.2), whose entries are made in order. `base` is the
/// URL that the others are relative to, and their origin; empty: that of the first one. Fails with
/// what is wrong, and where.
std::expected<scenario, std::string> read_scenario(std::string_view text, const url& base);

}  // namespace coracle::tool::bench
