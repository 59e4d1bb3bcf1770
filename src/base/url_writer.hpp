#pragma once

#include <coracle/base/url.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::detail {

/// Writes the normal form of a URL, part by part, and notes where each begins. Its functions return
/// false when a part is invalid; then `failure` says why, and the URL must not be used.
class url_writer {
public:
    /// Writes into `out`, which is empty and outlives it.
    explicit url_writer(url_parts& out) noexcept : out_(out), text_(out.text) {}

    /// `parse` of a url.
    bool write(std::string_view text, url_path how = url_path::normal);
    /// Writes `reference` resolved against `base` (RFC 3986 section 5.2.2).
    bool resolve(const url& base, std::string_view reference);
    /// Writes `base` with `name=value` added to its query.
    bool add_query(const url& base, std::string_view name, std::string_view value);
    bool set_fragment(const url& base, std::string_view fragment);
    void remove_user(const url& base);

    error failure() const;

private:
    bool write_whole(std::string_view text);
    bool write_absolute(std::string_view scheme, std::string_view rest);
    bool take_user(std::string_view& authority);
    bool write_authority(std::string_view authority);
    bool write_user(std::string_view user);
    bool write_host(std::string_view host);
    bool write_name(std::string_view host);
    bool write_foreign_name(std::string_view host);
    bool check_name(std::string_view name);
    bool write_port(std::string_view digits);
    bool write_path(std::string_view path);
    bool write_segment(std::string_view segment);
    void apply_dots(std::size_t segment);
    bool write_query_and_fragment(std::string_view tail);
    bool write_fragment(std::string_view tail);
    bool write_encoded(std::string_view part, unsigned allowed);
    std::size_t write_escaped(std::string_view rest, bool keeps_escapes = false);
    void keep_authority(const url& base);
    void keep_target(const url& base);
    bool finish() noexcept;
    bool refuse_size() noexcept;
    bool refuse(const char* sentence) noexcept;

    url_parts& out_;
    std::string& text_;
    const char* sentence_ = "";
    bool too_long_ = false;
    bool keeps_dots_ = false;
    bool keeps_bytes_ = false;
};

}  // namespace coracle::detail
