#pragma once

#include <coracle/tls/context.hpp>

#include <string>
#include <vector>

namespace coracle::tls::detail {

/// Makes what `self_signed` does, for any time: simulations have clocks of their own.
certificate_source self_signed_for_ever(const std::vector<std::string>& names);

}  // namespace coracle::tls::detail
