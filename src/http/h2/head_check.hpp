#pragma once

#include "http/h2/head.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::http::h2 {

/// Checks the fields of one head in order, and fills in its control data (RFC 9113 sections 8.2 and
/// 8.3). After the first fault it ignores the rest.
class head_check {
public:
    explicit head_check(head_kind kind, bool extended_connect) noexcept
        : kind_{kind}, extended_connect_{extended_connect} {}

    /// Checks a field, whose value has no blanks at its ends any more. `well_formed`: name and
    /// value are as section 8.2.1 wants them; pseudo-fields are checked here. Returns true if it
    /// belongs among the fields: pseudo-fields do not, nor among trailers what only a head may hold
    /// (RFC 9110 section 6.5.1).
    bool accept(const field& f, bool well_formed, head& out);

    /// To be called after the last field: checks that required fields are present.
    void finish(head& out) noexcept;

    [[nodiscard]] bool malformed() const noexcept { return malformed_; }

private:
    enum seen : std::uint8_t {
        seen_method = 1,
        seen_scheme = 2,
        seen_authority = 4,
        seen_path = 8,
        seen_protocol = 16,
        seen_status = 32,
    };

    void accept_pseudo(std::string_view name, std::string_view value, head& out) noexcept;
    void accept_status(std::string_view name, std::string_view value, head& out) noexcept;
    void accept_field(std::string_view value, field_id id, head& out) noexcept;
    void finish_request(head& out) noexcept;
    void finish_connect(head& out) noexcept;
    bool first(seen what) noexcept;
    void require(bool good) noexcept { malformed_ = malformed_ || !good; }

    head_kind kind_;
    bool extended_connect_;
    bool malformed_ = false;
    bool fields_begun_ = false;
    bool host_seen_ = false;
    std::uint8_t seen_ = 0;
};

}  // namespace coracle::http::h2
