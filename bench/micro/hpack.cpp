// The cost of the heads of HTTP/2: blocks of one connection, read and written, beside nghttp2.
#include "../support/micro.hpp"
#include "support/nghttp2_hpack.hpp"

#include <coracle/base/buffer.hpp>

#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::http;
using namespace coracle::http::h2::hpack;

namespace {

/// How many heads a connection has before it is a new one.
constexpr int heads = 1000;

/// A browser's request for another page each time.
fields request(int i) {
    return {
        {":method", "GET"},
        {":scheme", "https"},
        {":path", "/api/items/" + std::to_string(i) + "?page=2"},
        {":authority", "www.example.com"},
        {"user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0"},
        {"accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
        {"accept-language", "en-US,en;q=0.5"},
        {"accept-encoding", "gzip, deflate, br"},
        {"cookie", "session=0123456789abcdef0123456789abcdef; theme=dark"},
        {"if-none-match", "\"5f3-abc" + std::to_string(i) + "\""}};
}

fields response(int i) {
    return {{":status", "200"},
            {"content-type", "application/json"},
            {"content-length", std::to_string(100 + i % 900)},
            {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
            {"server", "coracle"},
            {"etag", "\"abc" + std::to_string(i) + "\""},
            {"cache-control", "private, max-age=60"}};
}

std::vector<fields> all_of(fields (*make)(int)) {
    std::vector<fields> all;
    for (int i = 0; i != heads; ++i) all.push_back(make(i));
    return all;
}

std::vector<std::string> blocks_of(fields (*make)(int)) {
    nghttp2_writer writer;
    std::vector<std::string> all;
    for (const fields& f : all_of(make)) all.emplace_back(writer.write(f));
    return all;
}

void read_ours(benchmark::State& state, fields (*make)(int)) {
    const auto blocks = blocks_of(make);
    buffer out(buffer::default_capacity);
    const bench::allocation_column column(state, heads);
    for (auto _ : state) {
        decoder d(4096);
        for (const std::string& block : blocks) {
            d.begin_block();
            out.clear();
            std::string_view rest = block;
            while (d.next(rest, out, 65'536) == decoder::result::field) {
            }
            benchmark::DoNotOptimize(out.data());
        }
    }
}

/// With what a reader of heads needs besides: the texts in one place, and what the names are.
void read_theirs(benchmark::State& state, fields (*make)(int)) {
    const auto blocks = blocks_of(make);
    buffer out(buffer::default_capacity);
    const bench::allocation_column column(state, heads);
    for (auto _ : state) {
        nghttp2_reader reader;
        for (const std::string& block : blocks) {
            out.clear();
            reader.read(block, [&](std::string_view name, std::string_view value) {
                out.append(name);
                out.append(value);
                benchmark::DoNotOptimize(find_field_id(name));
            });
            benchmark::DoNotOptimize(out.data());
        }
    }
}

void write_ours(benchmark::State& state, fields (*make)(int)) {
    const auto all = all_of(make);
    std::vector<field_id> ids;
    for (const auto& [name, value] : all.front()) ids.push_back(find_field_id(name));
    buffer out(buffer::default_capacity);
    const bench::allocation_column column(state, heads);
    for (auto _ : state) {
        encoder e;
        for (const fields& f : all) {
            out.clear();
            char* at = e.begin_block(out.spare());
            for (std::size_t i = 0; i != f.size(); ++i) {
                const bool is_secret = ids[i] == field_id::cookie;
                at = e.write(at, f[i].first, f[i].second, ids[i],
                             is_secret ? indexing::never : indexing::usual);
            }
            e.block_is_sent();
            benchmark::DoNotOptimize(at);
        }
    }
}

void write_theirs(benchmark::State& state, fields (*make)(int)) {
    const auto all = all_of(make);
    const bench::allocation_column column(state, heads);
    for (auto _ : state) {
        nghttp2_writer writer;
        for (const fields& f : all) benchmark::DoNotOptimize(writer.write(f).data());
    }
}

}  // namespace

int main(int argc, char** argv) {
    bench::add("hpack/read request:coracle", [](benchmark::State& s) { read_ours(s, request); });
    bench::add("hpack/read request:nghttp2", [](benchmark::State& s) { read_theirs(s, request); });
    bench::add("hpack/read response:coracle", [](benchmark::State& s) { read_ours(s, response); });
    bench::add("hpack/read response:nghttp2",
               [](benchmark::State& s) { read_theirs(s, response); });
    bench::add("hpack/write request:coracle", [](benchmark::State& s) { write_ours(s, request); });
    bench::add("hpack/write request:nghttp2",
               [](benchmark::State& s) { write_theirs(s, request); });
    bench::add("hpack/write response:coracle",
               [](benchmark::State& s) { write_ours(s, response); });
    bench::add("hpack/write response:nghttp2",
               [](benchmark::State& s) { write_theirs(s, response); });
    return bench::run_all(argc, argv);
}
