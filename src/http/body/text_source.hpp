#pragma once

#include <coracle/http/body.hpp>

#include <string>
#include <utility>

namespace coracle::http::detail {

/// A body whose text is in memory, as one piece.
class text_source : public body_source {
public:
    text_source(const text_source&) = delete;
    text_source& operator=(const text_source&) = delete;

    task<std::expected<std::string_view, error>> read() override {
        co_return std::exchange(rest_, std::string_view());
    }
    std::optional<std::uint64_t> length() const noexcept override { return rest_.size(); }

protected:
    explicit text_source(std::string text) noexcept : text_(std::move(text)), rest_(text_) {}
    ~text_source() = default;

    const std::string& text() const noexcept { return text_; }
    /// Begins again.
    void rewind() noexcept { rest_ = text_; }

private:
    std::string text_;
    std::string_view rest_;
};

}  // namespace coracle::http::detail
