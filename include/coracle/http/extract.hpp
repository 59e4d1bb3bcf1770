#pragma once

#include <coracle/http/form.hpp>
#include <coracle/http/from_request.hpp>
#include <coracle/http/from_text.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http {

/// A text as a template argument: names of parameters are part of their types.
template <std::size_t N>
struct fixed_string {
    consteval fixed_string(const char (&literal)[N]) noexcept {
        for (std::size_t i = 0; i != N; ++i) text[i] = literal[i];
    }
    constexpr std::string_view view() const noexcept { return {text, N - 1}; }

    char text[N];
};

namespace detail {

enum class value_kind : std::uint8_t { path, query, header, cookie, form };

/// The values of one name in a request, one after the other, decoded. Where decoding changes a
/// text it is kept in the memory of the request.
class value_cursor {
public:
    value_cursor(request& req, value_kind kind, std::string_view name);
    /// Finds the next value; false where there is none left.
    bool next(std::string_view& out);

    rejection missing() const;
    /// Makes a rejection. `why` follows the quoted text: "is not a number".
    rejection malformed(std::string_view text, std::string_view why) const;

private:
    bool next_query(std::string_view& out);
    bool next_param(std::string_view& out) noexcept;
    bool next_field(std::string_view& out) noexcept;
    bool next_cookie_value(std::string_view& out) noexcept;
    bool next_form(std::string_view& out) noexcept;

    request* req_;
    std::string_view name_;
    std::string_view rest_;
    std::size_t at_ = 0;
    value_kind kind_;
};

/// Reads the form in the body, unless that was done already, and keeps it with the request.
task<std::expected<void, rejection>> keep_form(request& req);
const form* kept_form(const request& req) noexcept;

/// Reads one value, an optional one, or any number of them.
template <class T>
struct value_reader;

template <readable_from_text T>
struct value_reader<std::optional<T>> {
    static std::expected<std::optional<T>, rejection> read(value_cursor& values) {
        std::string_view text;
        if (!values.next(text)) return std::optional<T>();
        auto value = from_text<T>::parse(text);
        if (!value) return std::unexpected(values.malformed(text, value.error()));
        return std::optional<T>(*std::move(value));
    }
};

template <readable_from_text T>
struct value_reader<T> {
    static std::expected<T, rejection> read(value_cursor& values) {
        auto value = value_reader<std::optional<T>>::read(values);
        if (!value) return std::unexpected(std::move(value).error());
        if (!*value) return std::unexpected(values.missing());
        return **std::move(value);
    }
};

template <readable_from_text T>
struct value_reader<std::vector<T>> {
    static std::expected<std::vector<T>, rejection> read(value_cursor& values) {
        std::vector<T> all;
        for (;;) {
            auto value = value_reader<std::optional<T>>::read(values);
            if (!value) return std::unexpected(std::move(value).error());
            if (!*value) return all;
            all.push_back(**std::move(value));
        }
    }
};

template <class T>
concept readable_value = requires(value_cursor& values) { value_reader<T>::read(values); };

/// The base of the extractors of one value: use it as `*id`, `id->`, or as it stands.
template <value_kind Kind, fixed_string Name, class T>
class named_value {
public:
    using value_type = T;
    static constexpr std::string_view name() noexcept { return Name.view(); }

    explicit named_value(T value) : value_(std::move(value)) {}

    const T& operator*() const& noexcept { return value_; }
    T& operator*() & noexcept { return value_; }
    T&& operator*() && noexcept { return std::move(value_); }
    const T* operator->() const noexcept { return &value_; }
    T* operator->() noexcept { return &value_; }
    operator const T&() const noexcept { return value_; }

private:
    T value_;
};

}  // namespace detail

/// The part of the path that `{name}` of the route matched. T is what `from_text` can read; a
/// std::string_view, here and below, lives as long as the request.
template <fixed_string Name, class T = std::string_view>
using path = detail::named_value<detail::value_kind::path, Name, T>;

/// A parameter of the query, decoded: the first of its name. T may be std::optional<X>, for one
/// that may be missing, and std::vector<X>, for all of the name in their order.
template <fixed_string Name, class T = std::string_view>
using query = detail::named_value<detail::value_kind::query, Name, T>;

/// A field of the request by its name, in any case. T as in `query`, by field lines.
template <fixed_string Name, class T = std::string_view>
using header = detail::named_value<detail::value_kind::header, Name, T>;

/// The value of a cookie. T as in `query`.
template <fixed_string Name, class T = std::string_view>
using cookie = detail::named_value<detail::value_kind::cookie, Name, T>;

/// A field of a form (application/x-www-form-urlencoded) in the body, which is read once for all of
/// them, within `form_limits`. T as in `query`. A handler may take the `form` itself as well.
template <fixed_string Name, class T = std::string_view>
using form_field = detail::named_value<detail::value_kind::form, Name, T>;

/// The whole body as a text of at most `Limit` bytes, beyond which the response is 413.
template <std::size_t Limit>
class limited_text_body {
public:
    explicit limited_text_body(std::string text) noexcept : text_(std::move(text)) {}

    const std::string& operator*() const& noexcept { return text_; }
    std::string& operator*() & noexcept { return text_; }
    std::string&& operator*() && noexcept { return std::move(text_); }
    const std::string* operator->() const noexcept { return &text_; }
    std::string* operator->() noexcept { return &text_; }
    operator const std::string&() const noexcept { return text_; }

private:
    std::string text_;
};

/// The body with the limit of `received_body`.
using text_body = limited_text_body<received_body::default_limit>;

/// The value that was stored for the request under the type T (`request::set_data`). A request
/// without it is a fault of the program: `exception` (invalid_argument), and so a 500. For a value
/// that may be missing, take the request and call `data<T>()`.
template <class T>
class data {
public:
    explicit data(T& value) noexcept : value_(&value) {}
    T& operator*() const noexcept { return *value_; }
    T* operator->() const noexcept { return value_; }

private:
    T* value_;
};

template <detail::value_kind Kind, fixed_string Name, detail::readable_value T>
    requires(Kind != detail::value_kind::form)
struct from_request<detail::named_value<Kind, Name, T>> {
    using value = detail::named_value<Kind, Name, T>;
    static constexpr std::string_view path_name =
        Kind == detail::value_kind::path ? Name.view() : std::string_view();

    static std::expected<value, rejection> extract(request& req) {
        detail::value_cursor values(req, Kind, Name.view());
        auto read = detail::value_reader<T>::read(values);
        if (!read) return std::unexpected(std::move(read).error());
        return value(*std::move(read));
    }
};

template <fixed_string Name, detail::readable_value T>
struct from_request<detail::named_value<detail::value_kind::form, Name, T>> {
    using value = form_field<Name, T>;
    static constexpr body_use body = body_use::form;

    static task<std::expected<value, rejection>> extract(request& req) {
        auto kept = co_await detail::keep_form(req);
        if (!kept) co_return std::unexpected(std::move(kept).error());
        detail::value_cursor values(req, detail::value_kind::form, Name.view());
        auto read = detail::value_reader<T>::read(values);
        if (!read) co_return std::unexpected(std::move(read).error());
        co_return value(*std::move(read));
    }
};

template <>
struct from_request<form> {
    static constexpr body_use body = body_use::form;
    static task<std::expected<form, rejection>> extract(request& req);
};

template <std::size_t Limit>
struct from_request<limited_text_body<Limit>> {
    static task<std::expected<limited_text_body<Limit>, rejection>> extract(request& req) {
        auto text = co_await as_result(req.body().text(Limit));
        if (!text) co_return std::unexpected(body_rejection(text.error()));
        co_return limited_text_body<Limit>(*std::move(text));
    }
};

template <class T>
struct from_request<data<T>> {
    static std::expected<data<T>, rejection> extract(request& req) {
        T* found = req.data<T>();
        if (found == nullptr) throw_exception(error(std::errc::invalid_argument, "http::data"));
        return data<T>(*found);
    }
};

}  // namespace coracle::http
