#pragma once

/// @file
/// Counters, gauges and histograms for Prometheus.

#include <coracle/metrics/process.hpp>
#include <coracle/metrics/registry.hpp>
