#pragma once

#include <coracle/coding/content_coding.hpp>

namespace coracle::http {

// HTTP's name for them; streams that are compressed have the same.
using coding::coding_category;
using coding::coding_error;
using coding::content_coding;
using coding::decoding_limits;
using coding::find_content_coding;
using coding::to_string;

}  // namespace coracle::http
