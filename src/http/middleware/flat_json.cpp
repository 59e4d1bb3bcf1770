#include "http/middleware/flat_json.hpp"

#include "base/json_scanner.hpp"

#include <algorithm>
#include <charconv>

namespace coracle::http::detail {

class flat_json_reader {
public:
    flat_json_reader(std::string_view text, std::size_t members) noexcept
        : in_(text), size_(text.size()), left_(members) {}

    bool read_object(flat_json& to) {
        if (!enter() || !in_.take('{')) return false;
        if (!in_.take('}')) {
            do {
                if (left_-- == 0) return false;
                flat_json::member m;
                if (!in_.take_string(m.name) || !in_.take(':') || !read_value(m)) return false;
                if (to.find(m.name) != nullptr) return false;
                to.members_.push_back(std::move(m));
            } while (in_.take(','));
            if (!in_.take('}')) return false;
        }
        --depth_;
        return true;
    }
    /// A NUL is a byte like others.
    bool at_end() noexcept { return in_.peek() == '\0' && in_.position() == size_; }

private:
    bool enter() noexcept { return ++depth_ <= deepest; }

    bool read_value(flat_json::member& to) {
        switch (in_.peek()) {
            case '"': return in_.take_string(to.text.emplace());
            case '{': {
                flat_json nested;
                return read_object(nested);
            }
            case '[': return read_list(to);
            default: return read_scalar(to);
        }
    }

    bool read_scalar(flat_json::member& to) {
        const std::string_view scalar = in_.take_scalar();
        if (scalar.empty()) return false;
        double value = 0;
        const auto [end, failure] =
            std::from_chars(scalar.data(), scalar.data() + scalar.size(), value);
        if (failure == std::errc() && end == scalar.data() + scalar.size()) to.number = value;
        return true;
    }

    bool read_list(flat_json::member& to) {
        if (!enter() || !in_.take('[')) return false;
        to.is_list = true;
        if (!in_.take(']')) {
            do {
                flat_json::member m;
                if (in_.peek() == '{') {
                    if (!read_object(to.objects.emplace_back())) return false;
                    continue;
                }
                if (!read_value(m)) return false;
                if (m.text) to.list.push_back(*std::move(m.text));
            } while (in_.take(','));
            if (!in_.take(']')) return false;
        }
        --depth_;
        return true;
    }

    static constexpr int deepest = 16;
    coracle::detail::json_scanner in_;
    std::size_t size_;
    std::size_t left_;  ///< members that may come
    int depth_ = 0;
};

std::optional<flat_json> flat_json::read(std::string_view text, std::size_t members) {
    flat_json all;
    flat_json_reader in(text, members);
    if (!in.read_object(all) || !in.at_end()) return std::nullopt;
    return all;
}

const flat_json::member* flat_json::find(std::string_view name) const noexcept {
    const auto at = std::ranges::find(members_, name, &member::name);
    return at == members_.end() ? nullptr : &*at;
}

std::string_view flat_json::text(std::string_view name) const noexcept {
    const member* const m = find(name);
    return m == nullptr || !m->text ? std::string_view() : std::string_view(*m->text);
}

}  // namespace coracle::http::detail
