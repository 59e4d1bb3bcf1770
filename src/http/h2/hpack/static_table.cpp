#include "http/h2/hpack/static_table.hpp"

#include <array>

namespace coracle::http::h2::hpack {

namespace {

using entries = std::array<table_entry, static_entries + 1>;

entries make_entries() noexcept {
    entries all{{{},
                 {":authority", ""},
                 {":method", "GET"},
                 {":method", "POST"},
                 {":path", "/"},
                 {":path", "/index.html"},
                 {":scheme", "http"},
                 {":scheme", "https"},
                 {":status", "200"},
                 {":status", "204"},
                 {":status", "206"},
                 {":status", "304"},
                 {":status", "400"},
                 {":status", "404"},
                 {":status", "500"},
                 {"accept-charset", ""},
                 {"accept-encoding", "gzip, deflate"},
                 {"accept-language", ""},
                 {"accept-ranges", ""},
                 {"accept", ""},
                 {"access-control-allow-origin", ""},
                 {"age", ""},
                 {"allow", ""},
                 {"authorization", ""},
                 {"cache-control", ""},
                 {"content-disposition", ""},
                 {"content-encoding", ""},
                 {"content-language", ""},
                 {"content-length", ""},
                 {"content-location", ""},
                 {"content-range", ""},
                 {"content-type", ""},
                 {"cookie", ""},
                 {"date", ""},
                 {"etag", ""},
                 {"expect", ""},
                 {"expires", ""},
                 {"from", ""},
                 {"host", ""},
                 {"if-match", ""},
                 {"if-modified-since", ""},
                 {"if-none-match", ""},
                 {"if-range", ""},
                 {"if-unmodified-since", ""},
                 {"last-modified", ""},
                 {"link", ""},
                 {"location", ""},
                 {"max-forwards", ""},
                 {"proxy-authenticate", ""},
                 {"proxy-authorization", ""},
                 {"range", ""},
                 {"referer", ""},
                 {"refresh", ""},
                 {"retry-after", ""},
                 {"server", ""},
                 {"set-cookie", ""},
                 {"strict-transport-security", ""},
                 {"transfer-encoding", ""},
                 {"user-agent", ""},
                 {"vary", ""},
                 {"via", ""},
                 {"www-authenticate", ""}}};
    for (table_entry& e : all) {
        e.id = find_field_id(e.name);
        e.well_formed = !e.name.starts_with(':');
    }
    return all;
}

struct tables {
    entries all = make_entries();
    /// The first index by the id of the name.
    std::array<std::uint8_t, field_id_count> by_id{};
    /// The last index with the same name.
    std::array<std::uint8_t, static_entries + 1> last{};

    tables() noexcept {
        for (std::size_t i = static_entries; i != 0; --i) {
            by_id[static_cast<std::size_t>(all[i].id)] = static_cast<std::uint8_t>(i);
            const bool goes_on = i != static_entries && all[i + 1].name == all[i].name;
            last[i] = goes_on ? last[i + 1] : static_cast<std::uint8_t>(i);
        }
    }
};

/// Made before what programs initialise, some of which make calls then.
[[gnu::init_priority(1000)]] const tables known;

}  // namespace

const table_entry& static_entry(std::size_t index) noexcept {
    return known.all[index];
}

std::size_t find_static_name(field_id id, std::string_view name) noexcept {
    if (id != field_id::other) return known.by_id[static_cast<std::size_t>(id)];
    if (name.size() < 3) return 0;
    for (std::size_t i = 1; i <= static_entries; ++i) {
        const table_entry& e = known.all[i];
        if (e.id == field_id::other && e.name == name) return i;
    }
    return 0;
}

std::size_t find_static_value(std::size_t first, std::string_view value) noexcept {
    for (std::size_t i = first; i <= known.last[first]; ++i) {
        if (known.all[i].value == value) return i;
    }
    return 0;
}

}  // namespace coracle::http::h2::hpack
