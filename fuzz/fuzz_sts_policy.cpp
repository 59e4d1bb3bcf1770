// A policy of MTA-STS (RFC 8461). Checked: what is read obeys the RFC and is read again from the
// text that it stands for, a host is allowed by a pattern alone, and a time limit holds.
#include "require.hpp"

#include <coracle/smtp/sts_policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using namespace coracle::smtp;

namespace {

std::string text_of(const sts_policy& p) {
    std::string text = "version: STSv1\r\nmode: ";
    text += p.mode == sts_mode::enforce ? "enforce" : p.mode == sts_mode::none ? "none" : "testing";
    text += "\r\nmax_age: " + std::to_string(p.max_age.count()) + "\r\n";
    for (const std::string& pattern : p.mx) text += "mx: " + pattern + "\r\n";
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    constexpr std::int64_t fetched = 1'900'000'000;
    const auto policy = sts_policy::parse(text, fetched);
    if (!policy) return 0;
    require(size <= sts_policy::most_bytes && policy->mx.size() <= sts_policy::most_patterns);
    require(policy->mode == sts_mode::none || !policy->mx.empty());
    require(policy->max_age.count() >= 0 && policy->max_age.count() <= 31'557'600);
    const auto again = sts_policy::parse(text_of(*policy), fetched);
    require(again && *again == *policy);
    require(!policy->holds(fetched + policy->max_age.count()));
    require(policy->max_age.count() == 0 || policy->holds(fetched));
    require(!policy->allows("") && !policy->allows(".") && !policy->allows("localhost"));
    for (const std::string& pattern : policy->mx) {
        const bool is_wild = pattern.starts_with("*.");
        const std::string host = is_wild ? "a" + pattern.substr(1) : pattern;
        require(policy->allows(host) && policy->allows(host + '.'));
        if (is_wild && policy->mx.size() == 1) {
            require(!policy->allows("b." + host) && !policy->allows(pattern.substr(1)));
            require(!policy->allows(pattern.substr(2)));
        }
    }
    return 0;
}
