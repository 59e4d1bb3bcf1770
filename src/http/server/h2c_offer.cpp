#include "http/server/h2c_offer.hpp"

#include "base/ascii.hpp"
#include "http/h2/settings.hpp"
#include "http/message/connection_field.hpp"
#include "http/message/token.hpp"

#include <coracle/http/fields.hpp>
#include <coracle/mime/base64.hpp>

#include <algorithm>
#include <utility>

namespace coracle::http::detail {

namespace {

/// Returns the value of a field that must have one line; nothing if it has none, or several.
std::optional<std::string_view> only_line(const fields& all, field_id id) {
    const auto is_one = [id](const field& f) { return f.id == id; };
    if (std::ranges::count_if(all, is_one) != 1) return std::nullopt;
    return all.get(id);
}

/// A field that Connection does not name is for the next hop to look at, not for us.
std::optional<std::string> settings_of(const fields& all) {
    const auto line = only_line(all, field_id::http2_settings);
    if (!line || !all.has_token(field_id::connection, "http2-settings")) return std::nullopt;
    auto payload = mime::base64_decode(*line, mime::base64_alphabet::url);
    if (payload && payload->size() % h2::setting_size != 0) return std::nullopt;
    return payload;
}

std::uint32_t cost_of(std::string_view name, std::string_view value) {
    return static_cast<std::uint32_t>(name.size() + value.size() + 32);
}

/// Copies the fields that are not of the HTTP/1.1 connection alone.
void copy_fields(const fields& all, h2c_offer& to) {
    std::size_t size = 0;
    for (const field& f : all) size += f.name.size();
    to.names.resize(size);  // once: the fields refer to it
    char* name = to.names.data();
    for (const field& f : all) {
        if (is_connection_field(f.id) || all.has_token(field_id::connection, f.name)) continue;
        char* const end = std::ranges::transform(f.name, name, [](char c) {
                              return coracle::detail::lower(c);
                          }).out;
        to.request.fields.push_back({{name, end}, f.value, f.id});
        to.request.cost += cost_of(f.name, f.value);
        name = end;
    }
}

}  // namespace

std::optional<h2c_offer> read_h2c_offer(const h1::request_head& from) {
    using enum h1::target_form;
    const bool names_a_path = from.form == origin || from.form == asterisk;
    if (!from.upgrade || !names_a_path || from.framing != h1::body_framing::none) {
        return std::nullopt;
    }
    fields all;
    all.adopt(from.fields.data(), from.fields.size());
    if (has_long_connection_field(all)) return std::nullopt;
    const auto protocols = only_line(all, field_id::upgrade);
    if (!protocols || !equal_ignoring_case(*protocols, "h2c")) return std::nullopt;
    auto settings = settings_of(all);
    if (!settings) return std::nullopt;

    h2c_offer offer;
    offer.settings = std::move(*settings);
    offer.request.method = from.method;
    offer.request.method_text = from.method_text;
    offer.request.authority = from.host;
    offer.request.path = from.target;
    for (const std::string_view value : {from.method_text, from.host, from.target}) {
        offer.request.cost += cost_of({}, value);
    }
    copy_fields(all, offer);
    return offer;
}

}  // namespace coracle::http::detail
