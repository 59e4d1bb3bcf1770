// A reader. The first bytes of the input say how its source cuts the content, what the limits are
// and which reads are made; the rest is the content. Checked: whatever the cut, each read gives
// what a plain search in the content gives, and consumes as much.
#include "require.hpp"

#include <coracle/io/memory.hpp>
#include <coracle/io/reader.hpp>
#include <coracle/testing/simulation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

using namespace coracle;

namespace {

class cut_source final : public io::source {
public:
    cut_source(std::string_view content, std::size_t piece) : left_(content), piece_(piece) {}
    task<std::expected<std::size_t, error>> read_some(std::span<char> into) override {
        require(!into.empty());
        const std::size_t n = left_.copy(into.data(), std::min(into.size(), piece_));
        left_.remove_prefix(n);
        co_return n;
    }

private:
    std::string_view left_;
    std::size_t piece_;
};

using piece = std::expected<std::optional<std::string_view>, error>;

// The bytes that are not consumed, and the expected results of the reader.
class model {
public:
    model(std::string_view content, const io::reader_options& options)
        : left_(content), options_(options) {}

    std::size_t left() const noexcept { return left_.size(); }
    std::string_view front(std::size_t n) const noexcept { return left_.substr(0, n); }
    void consume(std::size_t n) noexcept { left_.remove_prefix(n); }

    void check_line(const piece& got, char delimiter) {
        const std::size_t end = left_.find(delimiter);
        const std::string_view line = without_return(left_.substr(0, end));
        const bool kept = end == std::string_view::npos && !options_.unfinished_lines;
        const std::size_t size =
            end == std::string_view::npos && !kept ? left_.size() : line.size();
        check(got, size, end == std::string_view::npos && !kept ? left_ : line,
              end == std::string_view::npos ? left_.size() : end + 1, kept || left_.empty());
    }

    void check_until(const piece& got, std::string_view text) {
        const std::size_t end = left_.find(text);
        if (end != std::string_view::npos) {
            return check(got, end, left_.substr(0, end), end + text.size(), false);
        }
        const bool kept = !options_.unfinished_lines;
        const std::size_t begun = kept ? std::min(left_.size(), text.size() - 1) : 0;
        check(got, left_.size() - begun, left_, left_.size(), kept || left_.empty());
    }

private:
    std::string_view without_return(std::string_view line) const noexcept {
        if (options_.drop_carriage_return && line.ends_with('\r')) line.remove_suffix(1);
        return line;
    }

    void check(const piece& got, std::size_t size, std::string_view expected, std::size_t consumed,
               bool none) {
        if (size > options_.longest_line) {
            require(!got && got.error() == errc::limit_exceeded);
            return;
        }
        require(got.has_value());
        require(got->has_value() == !none);
        if (none) return;
        require(**got == expected);
        consume(consumed);
    }

    std::string_view left_;
    io::reader_options options_;
};

task<> read_line(io::reader& in, model& m, char delimiter) {
    const piece got = co_await as_result(in.read_line(delimiter));
    m.check_line(got, delimiter);
}

task<> read_until(io::reader& in, model& m) {
    const piece got = co_await as_result(in.read_until("aba"));
    m.check_until(got, "aba");
}

task<> read_exactly(io::reader& in, model& m, std::size_t n) {
    const auto got = co_await as_result(in.read_exactly(n));
    require(got.has_value() == (n <= m.left()));
    if (!got) {
        require(got.error() == errc::end_of_stream && got.error().bytes() == m.left());
        co_return;
    }
    require(*got == m.front(n));
    m.consume(n);
}

task<> read_some(io::reader& in, model& m) {
    const auto got = co_await as_result(in.read_some());
    require(got.has_value() && got->empty() == (m.left() == 0));
    require(*got == m.front(got->size()));
    m.consume(got->size());
}

task<> peek(io::reader& in, model& m, std::size_t n) {
    const auto got = co_await as_result(in.peek(n));
    require(got.has_value() && *got == m.front(n));
}

task<> skip(io::reader& in, model& m, std::size_t n) {
    const auto done = co_await as_result(in.skip(n));
    require(done.has_value() == (n <= m.left()));
    if (!done) require(done.error().bytes() == m.left());
    m.consume(std::min(n, m.left()));
}

task<> skip_line(io::reader& in, model& m, char delimiter) {
    const auto any = co_await as_result(in.skip_line(delimiter));
    require(any.has_value() && *any == (m.left() != 0));
    const std::size_t end = m.front(m.left()).find(delimiter);
    m.consume(end == std::string_view::npos ? m.left() : end + 1);
}

task<> read_struct(io::reader& in, model& m) {
    const auto got = co_await as_result(in.read_struct<std::uint32_t>());
    require(got.has_value() == (m.left() >= 4));
    if (!got) co_return;
    require(std::memcmp(&*got, m.front(4).data(), 4) == 0);
    m.consume(4);
}

task<> make_reads(std::string_view reads, std::string_view content, std::size_t step,
                  const io::reader_options& options) {
    cut_source from(content, step);
    io::reader in(from, options);
    model m(content, options);
    for (const char r : reads) {
        const auto byte = static_cast<unsigned char>(r);
        const std::size_t n = byte >> 3U;
        const char delimiter = n % 4 == 0 ? 'b' : '\n';
        switch (byte & 7U) {
            case 0: co_await read_line(in, m, delimiter); break;
            case 1: co_await read_until(in, m); break;
            case 2: co_await read_exactly(in, m, n * 4); break;
            case 3: co_await read_some(in, m); break;
            case 4: co_await peek(in, m, n * 4); break;
            case 5: co_await skip(in, m, n * 4); break;
            case 6: co_await skip_line(in, m, delimiter); break;
            default: co_await read_struct(in, m); break;
        }
        require(in.position() == content.size() - m.left());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) {
        return 0;
    }
    const std::string_view all{reinterpret_cast<const char*>(data), size};
    const std::string_view reads = all.substr(3, data[0]);
    const std::string_view content = all.substr(3 + reads.size());
    const std::size_t step = data[1] == 0 ? SIZE_MAX : data[1];
    io::reader_options options{.block = 64};
    options.longest_line = data[2] >> 2U;
    options.drop_carriage_return = (data[2] & 1U) != 0;
    options.unfinished_lines = (data[2] & 2U) != 0;
    testing::simulation world;
    world.run([&] { return make_reads(reads, content, step, options); });
    return 0;
}
