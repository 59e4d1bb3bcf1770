#pragma once

#include <coracle/http/from_request.hpp>
#include <coracle/http/response.hpp>

#include <concepts>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::http {

/// Limits of a JSON body.
struct json_limits {
    /// Bytes of the text. Default 1 MiB; beyond it 413.
    std::size_t bytes = received_body::default_limit;
    /// Objects and arrays within each other. Default 100; beyond it 400.
    unsigned depth = 100;
};

/// The reason why a text is not the JSON that is wanted: "at byte 17: a value was expected", "key
/// 'count' is missing".
struct json_error {
    std::string detail;
};

/// Converts values to JSON and back: specialised for each JSON library, as
/// `<coracle/http/nlohmann.hpp>` does for one, or for types of your own. One or both of
///
///     static std::expected<T, json_error> decode(std::string_view text, const json_limits&
///     limits); static std::string encode(const T& value);
///
/// `decode` keeps to `limits.depth`; the size was checked before.
template <class T>
struct json_codec;

template <class T>
concept decodes_json = requires(std::string_view text, const json_limits& limits) {
    { json_codec<T>::decode(text, limits) } -> std::same_as<std::expected<T, json_error>>;
};

template <class T>
concept encodes_json = requires(const T& value) {
    { json_codec<T>::encode(value) } -> std::convertible_to<std::string>;
};

/// JSON, both ways. As a parameter of a handler it is the body, decoded: 415 when the Content-Type
/// is not application/json or another that ends with "+json", 413 beyond the limit, 400 when it is
/// no JSON or not of this shape. Where a function `void validate(const T&, http::faults&)` is found
/// beside the type, faults that it notes give a 422 with the list. As a response,
/// `http::json(value)` is 200 with the value encoded, or has the status that is given.
template <class T, json_limits Limits = json_limits()>
class json {
public:
    json(T value, http::status code = http::status::ok) : value_(std::move(value)), status_(code) {}

    const T& operator*() const& noexcept { return value_; }
    T& operator*() & noexcept { return value_; }
    T&& operator*() && noexcept { return std::move(value_); }
    const T* operator->() const noexcept { return &value_; }
    T* operator->() noexcept { return &value_; }

    operator response() const
        requires encodes_json<T>
    {
        response r(status_);
        r.set_body(json_codec<T>::encode(value_), "application/json");
        return r;
    }

private:
    T value_;
    http::status status_;
};

json(const char*) -> json<std::string>;
json(const char*, status) -> json<std::string>;

namespace detail {

/// Throws `exception` when `text` is no JSON of this shape.
template <decodes_json T>
T decoded_or_thrown(std::string_view text, const json_limits& limits) {
    auto decoded = json_codec<T>::decode(text, limits);
    if (!decoded) {
        throw_exception(error(std::errc::bad_message, "json").on(decoded.error().detail));
    }
    return *std::move(decoded);
}

template <class T>
task<std::expected<T, error>> read_json_response(response* r, json_limits limits) {
    auto reading = r->text(limits.bytes);
    auto text = co_await as_result(reading);
    if (!text) co_return std::unexpected(std::move(text).error());
    auto decoded = json_codec<T>::decode(*text, limits);
    if (!decoded) {
        error e(std::errc::bad_message, "json", phase::receive);
        co_return std::unexpected(std::move(e.on(about(*r, decoded.error().detail))));
    }
    co_return *std::move(decoded);
}

/// The text of a JSON body.
task<std::expected<std::string, rejection>> read_json(request& req, std::size_t limit);

template <class T>
concept validated = requires(const T& value, faults& found) { validate(value, found); };
/// Holds for a function that would not be called, or whose faults nobody would see.
template <class T>
concept validated_in_vain =
    (!validated<T> && requires(T& value, faults& found) { validate(value, found); }) ||
    requires(const T& value) { validate(value, faults()); };

}  // namespace detail

template <decodes_json T, json_limits Limits>
struct from_request<json<T, Limits>> {
    using value = json<T, Limits>;

    static task<std::expected<value, rejection>> extract(request& req) {
        auto text = co_await detail::read_json(req, Limits.bytes);
        if (!text) co_return std::unexpected(std::move(text).error());
        co_return decode(*text);
    }

private:
    static std::expected<value, rejection> decode(const std::string& text) {
        auto decoded = json_codec<T>::decode(text, Limits);
        if (!decoded) {
            return std::unexpected(rejection{.detail = "JSON body: " + decoded.error().detail});
        }
        static_assert(!detail::validated_in_vain<T>,
                      "validate takes the value by const reference, and http::faults&");
        if constexpr (detail::validated<T>) {
            faults found;
            validate(std::as_const(*decoded), found);
            if (!found.empty()) {
                return std::unexpected(rejection{.status = status::unprocessable_content,
                                                 .detail = "the body is not valid",
                                                 .found = found.take()});
            }
        }
        return value(*std::move(decoded));
    }
};

template <class T>
operation<T> response::json(const json_limits& limits) {
    static_assert(decodes_json<T>,
                  "this type has no json_codec that decodes it: those by nlohmann-json are in "
                  "<coracle/http/nlohmann.hpp>");
    return detail::read_json_response<T>(this, limits);
}

template <class T>
operation<T> response::json() {
    return json<T>(json_limits{.bytes = extension_ != nullptr ? extension_->body_limit()
                                                              : received_body::default_limit});
}

}  // namespace coracle::http
