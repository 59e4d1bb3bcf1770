#pragma once

#include "form_part.hpp"
#include "get_command.hpp"

#include <coracle/http/call.hpp>
#include <coracle/http/fields.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tool {

/// The method, the fields and the body of the requests, as options name them.
class request_body {
public:
    /// Reads the files of the body; `settings` must stay. Throws `failure` when one cannot be read.
    explicit request_body(const get_settings& settings);

    /// With `upload` the content of a file is the body.
    std::string_view method(bool upload = false) const noexcept;
    bool is_plain_get() const noexcept { return method() == "GET" && !has_content(); }
    bool has_range() const noexcept { return fields_.contains(http::field_id::range); }
    /// `url` with the data that -G puts into its query.
    std::string with_query(const std::string& url) const;
    /// `upload`: the path of the file that is the body; empty: the body is that of the settings.
    /// Throws `failure` when a part makes no sense or its file cannot be opened.
    void give_to(http::call& c, const std::string& upload) const;

private:
    bool has_content() const noexcept;

    const get_settings& settings_;
    std::vector<form_part> parts_;
    http::fields fields_;
    std::string text_;
    bool is_json_ = false;
};

}  // namespace coracle::tool
