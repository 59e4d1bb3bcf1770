// The cost of the URL of a request to a client: reading it, and a redirect.
#include "../support/micro.hpp"

#include <coracle/base/url.hpp>

using namespace coracle;

namespace {

void parse(benchmark::State& state, const char* text) {
    const bench::allocation_column column(state);
    for (auto _ : state) {
        const auto u = url::parse(text);
        benchmark::DoNotOptimize(u->port());
    }
}

void resolve(benchmark::State& state, const char* reference) {
    const url base = url::parse("https://example.com/a/b/c?d").value();
    const bench::allocation_column column(state);
    for (auto _ : state) {
        const auto u = base.resolve(reference);
        benchmark::DoNotOptimize(u->port());
    }
}

}  // namespace

int main(int argc, char** argv) {
    bench::add("url/parse short:coracle",
               [](benchmark::State& s) { parse(s, "http://127.0.0.1:8080/hello"); });
    bench::add("url/parse query:coracle",
               [](benchmark::State& s) { parse(s, "https://example.com/a/b/c/d?x=1&y=2"); });
    bench::add("url/parse escapes:coracle", [](benchmark::State& s) {
        parse(s, "https://user:p%40ss@example.com/a b/%7ec/\xc3\xa9");
    });
    bench::add("url/resolve absolute:coracle",
               [](benchmark::State& s) { resolve(s, "https://www.example.com/"); });
    bench::add("url/resolve relative:coracle", [](benchmark::State& s) { resolve(s, "../x/y?z"); });
    return bench::run_all(argc, argv);
}
