#include "smtp/content_error.hpp"

#include <coracle/runtime/operation.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::smtp::detail {
namespace {

constexpr std::string_view content = "content";

}  // namespace

error content_error(error cause, std::vector<recipient_result> about) {
    if (coracle::detail::is_cancellation(cause)) return cause;
    cause.retry_is_safe(false);
    cause.with(std::make_shared<failure>(std::string(content), reply(), std::move(about)));
    return cause;
}

bool is_about_content(const error& e) noexcept {
    const failure* const f = failure_of(e);
    return f != nullptr && f->command() == content;
}

}  // namespace coracle::smtp::detail
