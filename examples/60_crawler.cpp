// Follows the links of a site, eight requests at a time, and prints the status of each page:
//
//   crawler http://127.0.0.1:8080/ [PAGES]
//
// Links to other origins are left out. The exit code is 1 when a page cannot be had.

#include <coracle/base/url.hpp>
#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task_group.hpp>

#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

using namespace coracle;

namespace {

struct crawl {
    http::client& client;
    std::size_t pages_left;
    task_group* group = nullptr;
    std::set<std::string> seen = {};
    std::size_t failures = 0;
};

task<> visit(crawl& all, url page);

/// Spawns a visit, unless the page was seen or there have been enough.
void follow(crawl& all, const url& page) {
    // Fragments are parts of one page.
    const auto whole = url::parse(page.text().substr(0, page.text().find('#')));
    if (!whole || all.pages_left == 0) return;
    if (!all.seen.insert(std::string(whole->text())).second) return;
    --all.pages_left;
    all.group->spawn([&all, to = *whole] { return visit(all, to); });
}

void follow_links(crawl& all, const url& page, std::string_view html) {
    constexpr std::string_view before = "href=\"";
    for (std::size_t at = 0; (at = html.find(before, at)) != std::string_view::npos;) {
        at += before.size();
        const std::size_t end = html.find('"', at);
        if (end == std::string_view::npos) return;
        const auto link = page.resolve(html.substr(at, end - at));
        if (link && link->scheme() == page.scheme() && link->authority() == page.authority()) {
            follow(all, *link);
        }
    }
}

task<> visit(crawl& all, url page) {
    auto request = all.client.get(page.text());
    const auto response = co_await as_result(request.full());
    if (!response) {
        ++all.failures;
        std::cout << page.text() << "  " << response.error() << '\n';
        co_return;
    }
    const int code = to_code(response->status);
    if (code >= 400) ++all.failures;
    std::cout << code << ' ' << page.text() << '\n';
    if (response->fields.get("Content-Type").starts_with("text/html")) {
        follow_links(all, page, response->body);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const auto start = url::parse(argc > 1 ? argv[1] : "");
    if (!start) {
        std::cerr << "usage: crawler URL [PAGES]\n";
        return 2;
    }
    const std::size_t pages = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1000;
    http::pool_options pool;
    pool.connections_per_host = 8;  // the other visits wait for one of these
    pool.streams = 8;
    http::client client({}, pool);
    crawl all{client, pages};
    block_on([&]() -> task<> {
        const auto visits = [&](task_group& group) -> task<> {
            all.group = &group;
            follow(all, *start);
            co_return;
        };
        co_await with_task_group(visits);  // until the last visit has ended
    });
    return all.failures == 0 ? 0 : 1;
}
