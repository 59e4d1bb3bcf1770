#pragma once

#include <coracle/http/response.hpp>

#include <string>
#include <string_view>

namespace coracle::http {

/// A problem detail (RFC 9457): a response that describes an error in JSON. `return
/// http::problem(http::status::conflict, "the berth is taken").type("/problems/taken");` Texts are
/// UTF-8; bytes that are not are replaced. Needs no JSON library.
class problem {
public:
    /// The title is the reason phrase of the status.
    explicit problem(http::status code, std::string_view detail = {});

    /// A URI that names the kind of the problem; "about:blank" when there is none.
    problem& type(std::string_view uri) { return set(type_, uri); }
    /// The kind in words, the same for every problem of it.
    problem& title(std::string_view text) { return set(title_, text); }
    /// A URI of this very occurrence.
    problem& instance(std::string_view uri) { return set(instance_, uri); }
    /// A member more (section 3.2), as a text. Throws `exception` (invalid_argument) for the name
    /// of one of its own: "type", "title", "status", "detail" and "instance".
    problem& add(std::string_view name, std::string_view value);
    /// A member more, whose value is JSON already. Throws as `add`.
    problem& add_json(std::string_view name, std::string_view json);

    http::status status() const noexcept { return status_; }
    /// The JSON text.
    std::string text() const;
    operator response() const;

private:
    problem& set(std::string& member, std::string_view value) {
        member = value;
        return *this;
    }

    http::status status_;
    std::string type_;
    std::string title_;
    std::string detail_;
    std::string instance_;
    std::string more_;
};

/// `text` as a JSON string, with its quotes; bytes that are not UTF-8 are replaced by U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace coracle::http
