#pragma once

#include "http/body/text_source.hpp"

#include <coracle/http/body.hpp>

#include <string>
#include <utility>

namespace coracle::http::detail {

/// A body that was read already, for those who read it next. Lives in the data of its request.
class replayed_body final : public text_source {
public:
    replayed_body(std::string text, received_body whole) noexcept
        : text_source(std::move(text)), whole_(whole) {}

    /// The body from its begin.
    received_body again() noexcept {
        rewind();
        return received_body(this);
    }
    const fields* trailers() const noexcept override { return &whole_.trailers(); }
    using text_source::text;

private:
    received_body whole_;
};

}  // namespace coracle::http::detail
