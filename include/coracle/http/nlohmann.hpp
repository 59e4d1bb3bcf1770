#pragma once

// `http::json` by nlohmann-json, for every type that has its `to_json` or `from_json`. The only
// header of the library that needs that one; programs that include it must find the headers of
// nlohmann-json.

#include <coracle/http/json.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http {

namespace detail {

/// Builds a value from the events of the parser: without recursion, within a depth, and without an
/// exception for what a client sends. A repeated key is refused, since another reader of the
/// message may have taken the other value (RFC 8259 section 4).
class nlohmann_builder {
public:
    using value = nlohmann::json;

    nlohmann_builder(value& root, unsigned depth) noexcept : root_(&root), depth_(depth) {}
    const std::string& failure() const noexcept { return failure_; }

    bool null() { return add(nullptr); }
    bool boolean(bool v) { return add(v); }
    bool number_integer(value::number_integer_t v) { return add(v); }
    bool number_unsigned(value::number_unsigned_t v) { return add(v); }
    bool number_float(value::number_float_t v, const std::string&) { return add(v); }
    bool string(std::string& v) { return add(std::move(v)); }
    bool binary(value::binary_t&) { return false; }
    bool start_object(std::size_t) { return open(value::object()); }
    bool start_array(std::size_t) { return open(value::array()); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }

    bool key(std::string& name) {
        const auto [at, fresh] = open_.back()->emplace(name, nullptr);
        if (!fresh) return fail("key '" + name.substr(0, 64) + "' is there twice");
        member_ = &*at;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const value::exception& why) {
        // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
        std::string_view text = why.what();
        const std::size_t colon = text.find(": ");
        if (colon != std::string_view::npos) text.remove_prefix(colon + 2);
        return fail("at byte " + std::to_string(position) + ": " +
                    std::string(text.substr(0, 200)));
    }

private:
    bool fail(std::string why) {
        failure_ = std::move(why);
        return false;
    }

    value* place(value v) {
        if (open_.empty()) return &(*root_ = std::move(v));
        if (open_.back()->is_object()) return &(*member_ = std::move(v));
        open_.back()->push_back(std::move(v));
        return &open_.back()->back();
    }
    bool add(value v) {
        place(std::move(v));
        return true;
    }
    bool open(value v) {
        if (open_.size() == depth_) {
            return fail("nested deeper than " + std::to_string(depth_));
        }
        open_.push_back(place(std::move(v)));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    value* root_;
    unsigned depth_;
    std::vector<value*> open_;
    value* member_ = nullptr;  ///< whose key was read last
    std::string failure_;
};

template <class T>
concept from_nlohmann = requires(const nlohmann::json& j) {
    { j.template get<T>() } -> std::same_as<T>;
};
template <class T>
concept to_nlohmann = requires(const T& value) { nlohmann::json(value); };

/// Also of lists and maps of them.
template <class T>
constexpr bool views_text() {
    if constexpr (std::is_same_v<T, std::string_view>) {
        return true;
    } else if constexpr (requires { typename T::mapped_type; }) {
        return views_text<typename T::key_type>() || views_text<typename T::mapped_type>();
    } else if constexpr (requires { typename T::value_type; }) {
        if constexpr (!std::is_same_v<typename T::value_type, T>) {
            return views_text<typename T::value_type>();
        } else {
            return false;
        }
    } else {
        return false;
    }
}

}  // namespace detail

/// `decode` refuses a key that an object has twice. What `from_json` throws, but for a lack of
/// memory, becomes the error; a member that is a `std::string_view` would outlive its text. Compile
/// with JSON_DIAGNOSTICS=1 to have the path of the value in it ("(/items/0/count) type must be
/// number, but is string"). `encode` replaces bytes that are not UTF-8.
template <class T>
    requires(detail::from_nlohmann<T> || detail::to_nlohmann<T>)
struct json_codec<T> {
    static std::expected<T, json_error> decode(std::string_view text, const json_limits& limits)
        requires detail::from_nlohmann<T>
    {
        static_assert(
            !detail::views_text<T>(),
            "a std::string_view would outlive the text of the JSON: decode a std::string");
        if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
            // For nlohmann-json the text would end here.
            return std::unexpected(json_error{"at byte " + std::to_string(nul + 1) + ": a NUL"});
        }
        nlohmann::json parsed;
        detail::nlohmann_builder builder(parsed, limits.depth);
        if (!nlohmann::json::sax_parse(text, &builder)) {
            return std::unexpected(json_error{builder.failure()});
        }
        try {
            return parsed.template get<T>();
        } catch (const nlohmann::json::exception& e) {
            // "[json.exception.type_error.302] type must be number, but is string"
            std::string_view why = e.what();
            const std::size_t bracket = why.find("] ");
            if (bracket != std::string_view::npos) why.remove_prefix(bracket + 2);
            return std::unexpected(json_error{std::string(why.substr(0, 200))});
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& e) {
            return std::unexpected(json_error{std::string(e.what()).substr(0, 200)});
        }
    }

    static std::string encode(const T& value)
        requires detail::to_nlohmann<T>
    {
        return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
};

}  // namespace coracle::http
