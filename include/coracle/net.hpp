#pragma once

/// @file
/// Addresses, sockets, listeners, datagrams and the resolver.

#include <coracle/net/address.hpp>
#include <coracle/net/byte_stream.hpp>
#include <coracle/net/datagram_socket.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/net/handover.hpp>
#include <coracle/net/inherited.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/net/network.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/net/serve.hpp>
#include <coracle/net/service_manager.hpp>
#include <coracle/net/socket.hpp>
#include <coracle/net/unix_socket.hpp>
