// usage: cost_routing parameters|literal ROUNDS
//
// Takes every path of a table of 1,000 routes ROUNDS times through a router, for
// scripts/check_cost.py to count, and says how many paths a round has.
#include "support/rest_api.hpp"
#include "support/route_asker.hpp"

#include <coracle/http/router.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const bench::rest_api api(1000);
    const std::vector<std::string> paths = std::string_view(argv[1]) == "parameters"
                                               ? api.paths_with_parameters()
                                               : api.paths_without_parameters();
    http::router routes;
    for (const std::string& pattern : api.patterns)
        routes.get(pattern, [](http::request&) { return http::status::ok; });
    const http::handler h = routes;
    bench::route_asker a;
    const int rounds = std::atoi(argv[2]);
    for (int i = 0; i != rounds; ++i) {
        for (const std::string& path : paths)
            if (a.ask(h, path) != 200) return 1;
    }
    std::printf("%zu\n", paths.size());
    return 0;
}
