#include <coracle/http/line_splitter.hpp>

#include <utility>

namespace coracle::http {
namespace {

/// The CR may be followed by an LF that belongs to it.
std::size_t size_without_cr(std::string_view text) noexcept {
    return text.size() - (text.ends_with('\r') ? 1 : 0);
}

}  // namespace

/// Returns false beyond the limit, so that the buffer never grows far beyond it.
bool line_splitter::keep(std::string_view piece) {
    // One byte more for a CR.
    if (piece.size() > limit_ + 1 - kept_.size()) return false;
    kept_ += piece;
    return size_without_cr(kept_) <= limit_;
}

line_splitter::result line_splitter::parse(std::string_view in) {
    line_ = {};
    if (std::exchange(line_is_kept_, false)) kept_.clear();
    const std::size_t end = in.find('\n');
    const std::string_view piece = in.substr(0, end);
    if (failed_) return {status::limit_exceeded, 0};
    // A line within one piece is not copied.
    const bool in_place = kept_.empty() && end != std::string_view::npos;
    failed_ = in_place ? size_without_cr(piece) > limit_ : !keep(piece);
    if (failed_) return {status::limit_exceeded, 0};
    if (end == std::string_view::npos) return {status::need_more, in.size()};
    line_is_kept_ = !in_place;
    const std::string_view whole = in_place ? piece : std::string_view(kept_);
    line_ = whole.substr(0, size_without_cr(whole));
    return {status::line, end + 1};
}

line_splitter::status line_splitter::finish() noexcept {
    line_ = {};
    if (std::exchange(line_is_kept_, false)) kept_.clear();
    // A CR without LF does not end a line.
    failed_ = failed_ || kept_.size() > limit_;
    if (failed_) return status::limit_exceeded;
    if (kept_.empty()) return status::need_more;
    line_is_kept_ = true;
    line_ = kept_;
    return status::line;
}

}  // namespace coracle::http
