#pragma once

#include <coracle/http/client.hpp>

#include <gtest/gtest.h>

#include <string>

namespace coracle::testing {

/// A test of a client and a server of ours that is run over HTTP/1.1 and over HTTP/2.
class each_version : public ::testing::TestWithParam<http::version_choice> {
protected:
    static bool over_http_2() { return GetParam() == http::version_choice::http_2; }
    /// Options of a client that speaks this version alone.
    static http::client_options options() {
        http::client_options o;
        o.http_version = GetParam();
        return o;
    }
};

inline auto both_versions() {
    return ::testing::Values(http::version_choice::http_1_1, http::version_choice::http_2);
}

inline std::string version_name(const ::testing::TestParamInfo<http::version_choice>& info) {
    return info.param == http::version_choice::http_2 ? "http_2" : "http_1_1";
}

}  // namespace coracle::testing
