#pragma once

#include <coracle/net/address.hpp>

#include <vector>

namespace coracle::connect {

/// Puts the best destination first: by the precedence of RFC 6724 section 2.1, then the smaller
/// scope (rule 8), and else leaves the order as it is. Leaves out the rules that need source
/// addresses (1 to 5 and 9): an unreachable destination fails at once, and the next one is tried.
void sort_destinations(std::vector<net::address>& all);

}  // namespace coracle::connect
