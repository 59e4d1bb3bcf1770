#pragma once

#include <string_view>

// Keys made by OpenSSL for these tests, and tokens that it signed with them. The private keys are
// gone.
namespace jwt_samples {

constexpr std::string_view rsa_pem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAsFghszW7hyfP5yWBqAQK\n"
    "6dZekCnrfzg2hJ1yYTCWCwWebTF3UxzliVQ4vMUW7lxL4HHL4k/Ko6Fd7nd86kfs\n"
    "HYyv+Sszt8kz+R23aBFqAwebdTfDyIKPjFamSN6I5NVgXaxGXILm7IFr5Z28bMHI\n"
    "CZ0MwDEK9qQAyq2dEAz++quXwvHlZ2r+GVCnblQ0C4JaMCk61RjuNlWi1SdRRFgJ\n"
    "KhBOyB/iTEi6iRz+LsN9SGu0QaPFx4VjGO6+vtkEhOibbsxYUPo/PTsNcK7E6rO3\n"
    "bBz8oF3fTDzgE67Xb4zRWc+SB72d3o7YGjVuCymOw77JfagX0xGuMfh5EP/wPLBu\n"
    "0wIDAQAB\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view rsa_modulus =
    "sFghszW7hyfP5yWBqAQK6dZekCnrfzg2hJ1yYTCWCwWebTF3UxzliVQ4vMUW7lxL4HHL4k_Ko6Fd7nd86kfs"
    "HYyv-Sszt8kz-R23aBFqAwebdTfDyIKPjFamSN6I5NVgXaxGXILm7IFr5Z28bMHICZ0MwDEK9qQAyq2dEAz-"
    "-quXwvHlZ2r-GVCnblQ0C4JaMCk61RjuNlWi1SdRRFgJKhBOyB_iTEi6iRz-LsN9SGu0QaPFx4VjGO6-vtkE"
    "hOibbsxYUPo_PTsNcK7E6rO3bBz8oF3fTDzgE67Xb4zRWc-SB72d3o7YGjVuCymOw77JfagX0xGuMfh5EP_w"
    "PLBu0w";
constexpr std::string_view p256_pem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEa25JaunDmDcNWwzlprgcOb1iAlrL\n"
    "4Np0nvCvHpBvfp+r6J15scDclLi0PsGp6iynvaDSr7uZkNOkC6QTDEHdeQ==\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view p256_x = "a25JaunDmDcNWwzlprgcOb1iAlrL4Np0nvCvHpBvfp8";
constexpr std::string_view p256_y = "q-idebHA3JS4tD7Bqeosp72g0q-7mZDTpAukEwxB3Xk";
constexpr std::string_view p384_pem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAE9kXIg+2EHIxvxl5CO6/7abjFReFqk5WK\n"
    "a3D63XTSJoGT9IOpit/KCl2xCzV/sdAVMKEuCRMvVTRDyUZWYvG2kW5WaPzfbDxw\n"
    "NfVhpA0l80Plz0Ydlaiib/cTYW/LoyHD\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view short_rsa_pem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDWrV/qYaHR8YKRZwAeAMGmhFhe\n"
    "gx+RqtG3SpsmZUj9EX0SV5E+PEGM72L64ZAwPo3yil/PsHQfOh6v7+KAWOpxdFyF\n"
    "rI5aJJQfiPTeZOc1Lp2SChySKR+21yOqA6wNalHu5FgYZFT6kep2uHZ2mrr7Wjig\n"
    "ROkJZ7BTpxtx5miJyQIDAQAB\n"
    "-----END PUBLIC KEY-----\n";

/// {"iss":"joe","sub":"ann","aud":["boats","maps"],"exp":4102444800,"nbf":1700000000,
/// "iat":1700000000.5,"jti":"7"}, with the header {"alg":...,"kid":"one"}.
constexpr std::string_view rs256 =
    "eyJhbGciOiAiUlMyNTYiLCAia2lkIjogIm9uZSJ9.eyJpc3MiOiJqb2UiLCJzdWIiOiJhbm4iLCJhdWQiOls"
    "iYm9hdHMiLCJtYXBzIl0sImV4cCI6NDEwMjQ0NDgwMCwibmJmIjoxNzAwMDAwMDAwLCJpYXQiOjE3MDAwMDA"
    "wMDAuNSwianRpIjoiNyJ9.ZrHW8Lnhnxv5YIdN5bvwoIYHyZhafWKoP35bB1GX2rTMiAOHLA7Pv3YjKg_YsO"
    "yIpOxPtW4H4Ihhney8iljQhjtoSzywJY2AnPk1uTRiKBONyC7F6Xz1wftt-W6KsMky0WzFNxk-xYx3YZ5-x1"
    "Bc3NtO4osDMPH3naX4M8c0h0Y6yfgF9y5YAntyGe5Vgb1gkGUpJWk6lQv43vl29Yz6OO7EctIsnVbbBKK8vk"
    "x7T8pgLy7wIhEw10MGnd8E1u--GELEh4opayk3956G8NQqvlMxF4Xyiyt1thL4XgA8EZbJq_yuYbbODAyzRm"
    "bHnMh9a2w76iyB5zYAJn9T1uibmw";
constexpr std::string_view es256 =
    "eyJhbGciOiAiRVMyNTYiLCAia2lkIjogIm9uZSJ9.eyJpc3MiOiJqb2UiLCJzdWIiOiJhbm4iLCJhdWQiOls"
    "iYm9hdHMiLCJtYXBzIl0sImV4cCI6NDEwMjQ0NDgwMCwibmJmIjoxNzAwMDAwMDAwLCJpYXQiOjE3MDAwMDA"
    "wMDAuNSwianRpIjoiNyJ9.SVqzikeZICU-u7bznGOzY4UkJfeivv9gXicU5dJcy7o-664ivlCv5bdecpKvAd"
    "CutR1dj-tvDibXa-ETIG9m6w";

}  // namespace jwt_samples
