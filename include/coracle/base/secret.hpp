#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {

/// Overwrites memory in a way that no compiler leaves out.
void wipe(void* memory, std::size_t size) noexcept;

/// A password, key or token: overwritten when it is released, and printed as "***". Copies are
/// secrets too. Not thread-safe.
class secret {
public:
    secret() noexcept = default;
    secret(std::string_view text) : text_(text) {}
    secret(const char* text) : text_(text) {}
    /// Takes a copy and overwrites the original.
    secret(std::string&& text) : text_(text) { wipe(text.data(), text.capacity()); }
    secret(const std::string& text) : text_(text) {}
    secret(const secret&) = default;
    secret(secret&& other) noexcept {
        take(other);
        other.clear();
    }
    secret& operator=(secret other) noexcept {
        clear();
        take(other);
        return *this;
    }
    ~secret() { clear(); }

    bool empty() const noexcept { return text_.empty(); }
    /// The text itself. Who copies it has to wipe the copy.
    std::string_view reveal() const noexcept { return text_; }
    const char* reveal_c_str() const noexcept { return text_.c_str(); }

    friend bool operator==(const secret& a, const secret& b) noexcept { return a.text_ == b.text_; }

private:
    void clear() noexcept {
        wipe(text_.data(), text_.capacity());
        text_.clear();
    }
    /// Takes over the text of `other`, into a clear object. A string that is moved leaves a short
    /// text in its place, and perhaps on the stack: texts that need no allocation are copied
    /// instead.
    void take(secret& other) noexcept {
        if (other.text_.size() <= text_.capacity())
            text_.assign(other.text_);
        else
            text_ = std::move(other.text_);
    }
    std::string text_;
};

template <class Char, class Traits>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, const secret&) {
    return out << "***";
}

}  // namespace coracle
