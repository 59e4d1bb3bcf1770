// A form and percent-coded text. Checked: what is read is written and read again as it was, every
// byte survives both codings, and limits hold.
#include "require.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/http/form.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

bool same(const http::form& a, const http::form& b) {
    return std::ranges::equal(a, b, [](http::form::entry x, http::form::entry y) {
        return x.name == y.name && x.value == y.value;
    });
}

void check_form(std::string_view text) {
    constexpr http::form_limits narrow{.pairs = 8, .bytes = 512};
    const auto wide = http::form::parse(text);
    require(wide.has_value());
    const auto read = http::form::parse(text, narrow);
    require(read.has_value() == (wide->size() <= narrow.pairs && text.size() <= narrow.bytes));
    if (!read) return;
    require(same(*read, *wide));
    http::form copy;
    for (const auto& [name, value] : *read) {
        require(read->contains(name) && std::ranges::count(read->get_all(name), value) > 0);
        copy.add(name, value);
    }
    require(same(copy, *read));
    const auto again = http::form::parse(read->text());
    require(again && same(*again, *read));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 1000) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check_form(text);
    for (const percent_set keep : {percent_set::component, percent_set::path, percent_set::query}) {
        const std::string encoded = percent_encode(text, keep);
        require(std::ranges::all_of(encoded, [](char c) { return c > ' ' && c < 0x7f; }));
        require(percent_decode(encoded) == text);
    }
    require(form_decode(percent_encode(text)) == text);
    if (const auto decoded = percent_decode(text)) {
        require(percent_decode(percent_encode(*decoded)) == decoded);
        if (text.find('+') == std::string_view::npos) require(form_decode(text) == *decoded);
    }
    return 0;
}
