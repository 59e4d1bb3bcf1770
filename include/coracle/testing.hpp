#pragma once

/// @file
/// For tests: simulated networks and disks, servers and peers inside the test.

#include <coracle/testing/local_server.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/script.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulated_backend.hpp>
#include <coracle/testing/simulated_disk.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/simulation_options.hpp>
#include <coracle/testing/smtp_sink.hpp>
