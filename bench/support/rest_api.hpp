#pragma once

// A table of routes in the shape of a large public REST API, and paths that ask for them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Makes equal APIs for equal sizes, everywhere: no randomness of the machine is in it.
class rest_api {
public:
    explicit rest_api(std::size_t routes) {
        // The beginnings of the paths, with the share of a real API below each.
        static constexpr std::string_view roots[] = {
            "/repos/{owner}/{repo}",
            "/repos/{owner}/{repo}",
            "/repos/{owner}/{repo}",
            "/orgs/{org}",
            "/users/{username}",
            "/user",
            "/teams/{team_id}",
            "/enterprises/{name}",
            "/gists/{gist_id}",
            "/projects/{project}",
            "/admin",
            "/marketplace_listing",
        };
        static constexpr std::string_view nouns[] = {
            "actions",  "branches", "collaborators", "comments",  "commits",    "contents",
            "deploys",  "events",   "environments",  "forks",     "git",        "hooks",
            "issues",   "keys",     "labels",        "languages", "milestones", "packages",
            "pages",    "pulls",    "releases",      "reviews",   "runners",    "secrets",
            "statuses", "tags",     "topics",        "traffic",   "variables",  "workflows",
        };
        static constexpr std::string_view verbs[] = {"archive", "lock", "merge", "rerun",
                                                     "transfer"};
        for (std::size_t round = 0; patterns.size() < routes; ++round) {
            std::string noun_here(nouns[round % std::size(nouns)]);
            if (round >= std::size(nouns)) {
                noun_here += '_';
                noun_here += std::to_string(round / std::size(nouns));
            }
            for (std::size_t i = 0; i != std::size(roots) && patterns.size() < routes; ++i) {
                if (i == 1 || i == 2) continue;
                const std::string base = std::string(roots[i]) + '/' + noun_here;
                const std::string_view below = nouns[(round * 7 + i * 3 + 1) % std::size(nouns)];
                add(base, routes);
                add(base + "/{number}", routes);
                add(base + "/{number}/" + std::string(below), routes);
                if (i == 0) add(base + "/{number}/" + std::string(below) + "/{id}", routes);
                if (i == 0) {
                    add(base + "/{number}/" + std::string(verbs[round % std::size(verbs)]), routes);
                }
            }
        }
    }

    std::vector<std::string> patterns;

    std::vector<std::string> paths_with_parameters() const { return shuffled(true); }
    std::vector<std::string> paths_without_parameters() const { return shuffled(false); }

private:
    void add(std::string pattern, std::size_t routes) {
        if (patterns.size() < routes) patterns.push_back(std::move(pattern));
    }

    /// A path for each route that has parameters, or has none, in no order.
    std::vector<std::string> shuffled(bool with) const {
        static constexpr std::string_view words[] = {
            "octo-org", "1347", "hello-world", "coracle", "42", "main", "boats-and-oars", "7"};
        std::vector<std::string> paths;
        std::uint64_t seed = 88172645463325252;
        for (const std::string& pattern : patterns) {
            if ((pattern.find('{') != std::string::npos) != with) continue;
            std::string path;
            for (std::size_t i = 0; i != pattern.size(); ++i) {
                if (pattern[i] != '{') {
                    path += pattern[i];
                    continue;
                }
                path += words[next(seed) % std::size(words)];
                i = pattern.find('}', i);
            }
            paths.push_back(std::move(path));
        }
        for (std::size_t i = paths.size(); i > 1; --i) {
            std::swap(paths[i - 1], paths[next(seed) % i]);
        }
        return paths;
    }

    static std::uint64_t next(std::uint64_t& x) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return x;
    }
};

}  // namespace bench
