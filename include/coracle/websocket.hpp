#pragma once

/// @file
/// WebSocket on both sides, and topics.

#include <coracle/websocket/close_code.hpp>
#include <coracle/websocket/compression.hpp>
#include <coracle/websocket/connect.hpp>
#include <coracle/websocket/connection.hpp>
#include <coracle/websocket/fault.hpp>
#include <coracle/websocket/message.hpp>
#include <coracle/websocket/options.hpp>
#include <coracle/websocket/reconnecting.hpp>
#include <coracle/websocket/route.hpp>
#include <coracle/websocket/slow_reader.hpp>
#include <coracle/websocket/topic_bus.hpp>
#include <coracle/websocket/topics.hpp>
