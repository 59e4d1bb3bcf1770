// The cost of a router, in a table of 1,000 routes in the shape of a large public REST API: a path
// is made canonical, matched, and its handler called with the parameters. Against the same table as
// a linear scan, as a tree of std::map, and (bench/peers/servemux) as Go's ServeMux.
//
//   bench_router                    all of it
//   bench_router --table            the routes and paths, for the peer to read
#include "../support/micro.hpp"
#include "../support/rest_api.hpp"
#include "../support/route_asker.hpp"
#include "http/router/route_tree.hpp"
#include "http/server/canonical_path.hpp"

#include <coracle/http/router.hpp>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;

namespace {

using bench::rest_api;

using bench::route_asker;

http::handler routed(const rest_api& api) {
    http::router r;
    for (const std::string& pattern : api.patterns) {
        r.get(pattern, [](http::request&) { return http::status::ok; });
    }
    return r;
}

void look_up(benchmark::State& state, const rest_api& api, const std::vector<std::string>& paths) {
    const http::handler h = routed(api);
    route_asker a;
    for (const std::string& p : paths) {
        if (a.ask(h, p) != 200) std::abort();
    }
    std::size_t i = 0;
    const bench::allocation_column column(state);
    for (auto _ : state) {
        benchmark::DoNotOptimize(a.ask(h, paths[i]));
        if (++i == paths.size()) i = 0;
    }
}

void with_parameters(benchmark::State& state) {
    const rest_api api(1000);
    look_up(state, api, api.paths_with_parameters());
}

void without_parameters(benchmark::State& state) {
    const rest_api api(1000);
    look_up(state, api, api.paths_without_parameters());
}

void canonical_alone(benchmark::State& state) {
    const rest_api api(1000);
    const auto paths = api.paths_with_parameters();
    arena memory;
    std::size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(http::detail::canonical_path(paths[i], memory));
        if (++i == paths.size()) i = 0;
    }
}

void only_root(benchmark::State& state) {
    http::router r;
    r.get("/", [](http::request&) { return http::status::ok; });
    const http::handler h = r;
    route_asker a;
    for (auto _ : state) benchmark::DoNotOptimize(a.ask(h, "/"));
}

void with_an_expression(benchmark::State& state) {
    http::router r;
    r.get("/users/{id:[0-9]+}/boats", [](http::request&) { return http::status::ok; });
    const http::handler h = r;
    route_asker a;
    for (auto _ : state) benchmark::DoNotOptimize(a.ask(h, "/users/123456/boats"));
}

using values = std::vector<std::string_view>;

std::string_view next_segment(std::string_view& path) {
    path.remove_prefix(1);
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, slash);
    path.remove_prefix(slash);
    return segment;
}

/// The tree of the router.
class radix_tree {
public:
    explicit radix_tree(const rest_api& api) {
        const auto nothing = std::make_shared<http::detail::route_record>();
        for (const std::string& p : api.patterns) {
            tree_.at(http::detail::parse_pattern(p)).add("GET", nothing);
        }
    }
    const void* find(std::string_view path, values& found) const {
        http::detail::route_match match;
        if (!tree_.match(path, match)) return nullptr;
        found.clear();
        for (std::size_t i = 0; i != match.count; ++i) {
            found.emplace_back(match.values[i].data, match.values[i].size);
        }
        return match.found->find(http::method::get, "GET");
    }

private:
    http::detail::route_tree tree_;
};

/// Every route in turn, cut into segments beforehand.
class linear_scan {
public:
    explicit linear_scan(const rest_api& api) {
        for (std::string_view p : api.patterns) {
            auto& cut = routes_.emplace_back();
            while (!p.empty()) cut.emplace_back(next_segment(p));
        }
    }
    const void* find(std::string_view path, values& found) const {
        for (const auto& route : routes_) {
            found.clear();
            std::string_view left = path;
            std::size_t i = 0;
            for (; i != route.size() && !left.empty(); ++i) {
                const std::string_view segment = next_segment(left);
                if (route[i][0] == '{')
                    found.push_back(segment);
                else if (route[i] != segment)
                    break;
            }
            if (i == route.size() && left.empty()) return &route;
        }
        return nullptr;
    }

private:
    std::vector<std::vector<std::string>> routes_;
};

/// A std::map of segments in each node.
class tree_of_maps {
public:
    explicit tree_of_maps(const rest_api& api) {
        for (std::string_view p : api.patterns) {
            node* n = &root_;
            while (!p.empty()) {
                const std::string_view segment = next_segment(p);
                auto& child = segment[0] == '{' ? n->any : n->children[std::string(segment)];
                if (!child) child = std::make_unique<node>();
                n = child.get();
            }
            n->ends = true;
        }
    }
    const void* find(std::string_view path, values& found) const {
        found.clear();
        return search(root_, path, found);
    }

private:
    struct node {
        std::map<std::string, std::unique_ptr<node>, std::less<>> children;
        std::unique_ptr<node> any;
        bool ends = false;
    };
    static const node* search(const node& n, std::string_view path, values& found) {
        if (path.empty()) return n.ends ? &n : nullptr;
        const std::string_view segment = next_segment(path);
        const auto child = n.children.find(segment);
        if (child != n.children.end()) {
            if (const node* hit = search(*child->second, path, found)) return hit;
        }
        if (!n.any) return nullptr;
        found.push_back(segment);
        const node* hit = search(*n.any, path, found);
        if (hit == nullptr) found.pop_back();
        return hit;
    }
    node root_;
};

template <class Table>
void look_up_in(benchmark::State& state) {
    const rest_api api(1000);
    const Table table(api);
    const auto paths = api.paths_with_parameters();
    arena memory;
    values found;
    for (const std::string& p : paths) {
        if (table.find(p, found) == nullptr) std::abort();
    }
    std::size_t i = 0;
    const bench::allocation_column column(state);
    for (auto _ : state) {
        const auto path = http::detail::canonical_path(paths[i], memory);
        benchmark::DoNotOptimize(table.find(*path, found));
        if (++i == paths.size()) i = 0;
    }
}

int print_table() {
    const rest_api api(1000);
    for (const std::string& p : api.patterns) std::printf("route %s\n", p.c_str());
    for (const std::string& p : api.paths_with_parameters()) std::printf("path %s\n", p.c_str());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "--table") == 0) return print_table();
    bench::add("route_with_parameters:coracle", look_up_in<radix_tree>);
    bench::add("route_with_parameters:std_map", look_up_in<tree_of_maps>);
    bench::add("route_with_parameters:linear_scan", look_up_in<linear_scan>);
    bench::add("route_and_call_with_parameters:coracle", with_parameters);
    bench::add("route_and_call_without_parameters:coracle", without_parameters);
    bench::add("route_canonical_path_alone:coracle", canonical_alone);
    bench::add("route_and_call_root_of_one:coracle", only_root);
    bench::add("route_and_call_with_an_expression:coracle", with_an_expression);
    return bench::run_all(argc, argv);
}
