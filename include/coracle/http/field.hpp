#pragma once

#include <coracle/http/field_id.hpp>

#include <string_view>

namespace coracle::http {

/// One field line of a message: views into whatever holds it.
struct field {
    std::string_view name;
    std::string_view value;
    field_id id = field_id::other;
    bool never_indexed = false;  ///< a secret: see `fields::never_index`
};

}  // namespace coracle::http
